// std::timed_mutex is locked by try_lock_for.
// issue: https://github.com/google/sanitizers/issues/1620
// tool: ThreadSanitizer
// there: false alarm; 'unlock of an unlocked mutex': pthread_mutex_clocklock is not intercepted
// verdict: no race; the mutex is held whenever the counter changes
#include <chrono>
#include <mutex>
#include <thread>

static std::timed_mutex lock;
static int counter;

static void work()
{
    std::unique_lock<std::timed_mutex> guard(lock, std::defer_lock);
    if (guard.try_lock_for(std::chrono::seconds(1000)))
        counter++;
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    return counter - 2;
}
