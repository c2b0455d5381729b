// An event of a mutex, a flag and wait_until on the steady clock, awaited several times.
// issue: https://github.com/SophistSolutions/Stroika/issues/850
// tool: ThreadSanitizer
// there: false alarm; tons of 'double lock of a mutex', and races under the mutex
// verdict: no race; both sides use the flag under the mutex
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

class Event {
    std::mutex mutex;
    std::condition_variable change;
    bool triggered = false;

  public:
    void set()
    {
        {
            std::lock_guard<std::mutex> guard(mutex);
            triggered = true;
        }
        change.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> guard(mutex);
        auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1000);
        while (!triggered)
            change.wait_until(guard, until);
        triggered = false;
    }
};

Event there, back;
int x;

int main()
{
    std::thread t([] {
        for (int i = 0; i < 5; i++) {
            there.wait();
            x++;
            back.set();
        }
    });
    for (int i = 0; i < 5; i++) {
        x++;
        there.set();
        back.wait();
    }
    t.join();
    return x - 10;
}
