// A std::condition_variable in a C++ library.
// library: untraced_state_cxx.cc untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    x = 1;
    state_cxx_set();
    return NULL;
}

THREAD(second)
{
    state_cxx_wait();
    x = 2;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
