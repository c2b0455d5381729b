// A flag in a library that comes with dlopen().
// library: untraced_state.c untraced dlopen
// full: also
#include "prog.h"

#include <dlfcn.h>

static int x;
static void (*set)(void), (*wait)(void);

THREAD(first)
{
    x = 1;
    set();
    return NULL;
}

THREAD(second)
{
    wait();
    x = 2;
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
