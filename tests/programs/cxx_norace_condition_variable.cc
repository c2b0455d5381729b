// std::condition_variable with a predicate, a timed wait, and condition_variable_any.
// gcc: also
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex lock;
std::condition_variable cond;
std::condition_variable_any any;
bool ready, done;
int data;

int main()
{
    std::thread t([] {
        std::unique_lock<std::mutex> guard(lock);
        cond.wait(guard, [] { return ready; });
        guard.unlock();
        data++;
        guard.lock();
        done = true;
        any.notify_all();
    });
    data = 1;
    {
        std::lock_guard<std::mutex> guard(lock);
        ready = true;
    }
    cond.notify_one();
    std::unique_lock<std::mutex> guard(lock);
    while (!any.wait_for(guard, std::chrono::milliseconds(1), [] { return done; }))
        ;
    guard.unlock();
    int result = data - 2;
    t.join();
    return result;
}
