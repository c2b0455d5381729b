// An unlocked lookup in a std::map that another thread extends: it finds the new node.
// race: a b
#include <atomic>
#include <map>
#include <thread>

std::map<int, int> table;
std::atomic<bool> done;

int main()
{
    for (int i = 0; i < 10; i++)
        table[i] = i;
    std::thread a([] {
        table[20] = 1; // [a]
        done.store(true, std::memory_order_relaxed);
    });
    while (!done.load(std::memory_order_relaxed))
        std::this_thread::yield();
    volatile bool found = table.count(30) != 0; // [b]
    (void)found;
    a.join();
}
