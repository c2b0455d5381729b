// A worker runs a function each period until it is told to stop.
// issue: https://github.com/gabime/spdlog/pull/2815
// tool: DRD
// there: false alarm; conflicting accesses of std::function and std::condition_variable
// verdict: no race; the function is set before the thread starts, the flag is under the mutex
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

class Periodic {
    bool active = true;
    std::thread thread;
    std::mutex mutex;
    std::condition_variable change;

  public:
    explicit Periodic(const std::function<void()> &callback)
    {
        thread = std::thread([this, callback] {
            for (;;) {
                std::unique_lock<std::mutex> guard(mutex);
                if (change.wait_for(guard, std::chrono::milliseconds(1), [this] { return !active; }))
                    return;
                callback();
            }
        });
    }
    ~Periodic()
    {
        {
            std::lock_guard<std::mutex> guard(mutex);
            active = false;
        }
        change.notify_one();
        thread.join();
    }
};

int main()
{
    std::mutex lock;
    int calls = 0;
    {
        Periodic worker([&] {
            std::lock_guard<std::mutex> guard(lock);
            calls++;
        });
        std::lock_guard<std::mutex> guard(lock);
        calls++;
    }
    return calls == 0;
}
