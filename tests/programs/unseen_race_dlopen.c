// A flag in a library that comes with dlopen(). Not in the right place.
// library: untraced_state.c untraced dlopen
// full: also
// race: a b
#include "prog.h"

#include <dlfcn.h>

static int x;
static void (*set)(void), (*wait)(void);

THREAD(first)
{
    set();
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    wait();
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    void *library = dlopen("./untraced_state.so", RTLD_NOW);

    set = (void (*)(void))dlsym(library, "state_set");
    wait = (void (*)(void))dlsym(library, "state_wait");
    run_two(first, second);
    USE(x);
    return 0;
}
