// A std::mutex in a C++ library.
// library: untraced_state_cxx.cc untraced
// full: also
#include "prog.h"
#include "untraced_state.h"

static int x;

THREAD(first)
{
    state_cxx_lock();
    x++;
    state_cxx_unlock();
    return NULL;
}

THREAD(second)
{
    state_cxx_lock();
    x++;
    state_cxx_unlock();
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(x);
    return 0;
}
