// Threads of Boost, whose library only runs the program's function.
// library: untraced_thin_boost.cc untraced
// race: a b
#include "untraced_thin_boost.h"

int x;

static void first()
{
    x = 1; // [a]
}

static void second()
{
    x = 2; // [b]
}

int main()
{
    boost::thread one(first), two(second);
    return 0;
}
