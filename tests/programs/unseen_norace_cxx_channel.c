// Objects behind virtual functions in a map of a C++ library.
// library: untraced_state_cxx.cc untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1;
    state_cxx_notify(3);
    return NULL;
}

THREAD(second)
{
    state_cxx_await(3);
    x = 2;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
