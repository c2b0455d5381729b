// A relaxed flag.
// race: a b
// gcc: also
#include <atomic>
#include <thread>

int data;
std::atomic<bool> flag;

int main()
{
    std::thread a([] {
        data = 1; // [a]
        flag.store(true, std::memory_order_relaxed);
    });
    while (!flag.load(std::memory_order_relaxed))
        std::this_thread::yield();
    data = 2; // [b]
    a.join();
}
