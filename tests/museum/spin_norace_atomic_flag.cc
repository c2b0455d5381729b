// A spin lock of std::atomic_flag used through std::lock_guard.
// issue: https://github.com/google/sanitizers/issues/623
// tool: ThreadSanitizer
// there: false alarm; gcc 5 did not instrument the operations of std::atomic_flag
// verdict: no race; clear(release) synchronizes with test_and_set(acquire)
#include <atomic>
#include <mutex>
#include <thread>

class Spin {
    std::atomic_flag flag = ATOMIC_FLAG_INIT;

  public:
    void lock()
    {
        while (flag.test_and_set(std::memory_order_acquire))
            std::this_thread::yield();
    }
    void unlock()
    {
        flag.clear(std::memory_order_release);
    }
};

static Spin spin;
static long total;

int main()
{
    auto add = [] {
        for (int i = 0; i < 10; i++) {
            std::lock_guard<Spin> guard(spin);
            total += i;
        }
    };
    std::thread a(add), b(add);
    a.join();
    b.join();
    return total - 90;
}
