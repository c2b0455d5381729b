// std::thread of a libstdc++ that is part of the program is no library that hides what it orders.
// race: a b
// flags: -static-libstdc++
// flags: -static
// gcc: also
#include <thread>

int x;

int main()
{
    std::thread first([] {
        x = 1; // [a]
    });
    std::thread second([] {
        x = 2; // [b]
    });
    first.join();
    second.join();
    return 0;
}
