// std::mutex under contention, with a condition variable beside it.
// issue: https://github.com/ceph/ceph-qa-suite/pull/1177
// tool: Helgrind
// there: crash; numerous false alarms and assertion failures with std::mutex; its tests were
//   removed
// verdict: no race; everything shared is under the mutex
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex mutex;
std::condition_variable done;
int left = 3, total;

int main()
{
    auto work = [] {
        for (int i = 0; i < 50; i++) {
            std::lock_guard<std::mutex> guard(mutex);
            total++;
        }
        std::lock_guard<std::mutex> guard(mutex);
        if (!--left)
            done.notify_all();
    };
    std::thread a(work), b(work), c(work);
    {
        std::unique_lock<std::mutex> guard(mutex);
        done.wait(guard, [] { return !left; });
    }
    a.join();
    b.join();
    c.join();
    return total - 150;
}
