// An unlocked lookup in a std::map that another thread extends: it finds the new node.
// race: a b
#include <chrono>
#include <map>
#include <thread>

std::map<int, int> table;

int main()
{
    for (int i = 0; i < 10; i++)
        table[i] = i;
    std::thread a([] {
        table[20] = 1; // [a]
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    volatile bool found = table.count(30) != 0; // [b]
    (void)found;
    a.join();
}
