// std::list links its nodes in functions that libstdc++.so has, too.
// race: a b
// race: c d
#include "prog.h"

#include <list>
#include <set>
#include <thread>

static std::list<int> list = { 1, 2 };
static std::set<int> set = { 1, 5, 9 };
static int done;

int main()
{
    std::thread t([] {
        list.remove(2); // [a]
        set.erase(9);   // [c]
        tell(&done);
    });
    await(&done);
    volatile int last = list.back();  // [b]
    volatile int highest = *set.rbegin(); // [d]
    (void)last;
    (void)highest;
    t.join();
    return 0;
}
