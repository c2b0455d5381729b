// std::mutex, recursive_mutex, timed_mutex; lock_guard, unique_lock, scoped_lock.
// flags: -std=c++17 -O0
// flags: -std=c++17 -O2
// gcc: also
#include <chrono>
#include <mutex>
#include <thread>

std::mutex m, n;
std::recursive_mutex r;
std::timed_mutex t;
int a, b, c;

static void work()
{
    for (int i = 0; i < 20; i++) {
        {
            std::scoped_lock both(m, n);
            a++;
        }
        {
            std::lock_guard<std::recursive_mutex> outer(r), inner(r);
            b++;
        }
        std::unique_lock<std::timed_mutex> lock(t, std::defer_lock);
        while (!lock.try_lock_for(std::chrono::seconds(5)))
            ;
        c++;
    }
}

int main()
{
    std::thread x(work), y(work);
    x.join();
    y.join();
    return a + b + c - 120;
}
