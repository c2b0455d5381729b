// A signal is waited for with std::condition_variable::wait_for.
// issue: https://github.com/google/sanitizers/issues/1259
// tool: ThreadSanitizer
// there: false alarm; 'double lock of a mutex' and races: pthread_cond_clockwait is not
//   intercepted
// verdict: no race; the flag is only used under the mutex, the data behind the flag
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex lock;
std::condition_variable change;
bool ready;
int data;

int main()
{
    std::thread t([] {
        std::unique_lock<std::mutex> guard(lock);
        while (!change.wait_for(guard, std::chrono::seconds(100), [] { return ready; }))
            ;
        data++;
    });
    {
        std::lock_guard<std::mutex> guard(lock);
        data = 1;
        ready = true;
    }
    change.notify_one();
    t.join();
    return data - 2;
}
