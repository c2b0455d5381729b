// std::atomic_ref in one thread, a plain access of the same object in the other.
// flags: -std=c++20 -O1
// race: a b
#include "prog.h"
#include <atomic>

int object;

THREAD(first)
{
    std::atomic_ref<int>(object).fetch_add(1); // [a]
    return nullptr;
}

THREAD(second)
{
    object++; // [b]
    return nullptr;
}

int main()
{
    run_two(first, second);
    return 0;
}
