// A std::condition_variable in a C++ library. Not in the right place.
// library: untraced_state_cxx.cc untraced
// full: also
// race: a b
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    state_cxx_set();
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    state_cxx_wait();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
