// A write under a shared lock.
// race: a a
// flags: -std=c++17
#include <shared_mutex>
#include <thread>

std::shared_mutex lock;
int x;

static void work()
{
    std::shared_lock<std::shared_mutex> guard(lock);
    x++; // [a]
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
}
