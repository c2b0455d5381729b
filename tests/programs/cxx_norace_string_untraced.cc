// The program has its own copies of members of std::string; an untraced library does not use them.
// library: library_string.cc untraced
// flags: -O0
// flags: -O2
#include "prog.h"

#include <list>
#include <set>
#include <string>

extern "C" void library_add(const char *s);

THREAD(worker)
{
    std::string own;
    std::list<int> list;
    std::set<int> set;
    for (int i = 0; i < 20; i++) {
        own.append("word").insert(0, "and some more text");
        list.push_back(i);
        set.insert(i);
        library_add("x");
    }
    return arg;
}

int main()
{
    run_two(worker, worker);
    return 0;
}
