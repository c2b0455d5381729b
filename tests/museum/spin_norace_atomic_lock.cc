// A lock made of an std::atomic<bool>.
// issue: https://github.com/SophistSolutions/Stroika/issues/1046
// tool: Helgrind
// there: false alarm; it does not understand std::atomic used as a lock
// verdict: no race; the releasing store synchronizes with the exchange that takes the lock
#include <atomic>
#include <thread>

static std::atomic<bool> taken;
static int counter;

static void work()
{
    for (int i = 0; i < 10; i++) {
        while (taken.exchange(true, std::memory_order_acquire))
            std::this_thread::yield();
        counter++;
        taken.store(false, std::memory_order_release);
    }
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    return counter - 20;
}
