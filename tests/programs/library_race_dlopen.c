// A traced library loaded while the program runs.
// race: a b
// library: library_traced.c traced dlopen
// gcc: also
#include "prog.h"
#include <dlfcn.h>

int *shared;
void (*library_write)(void);

THREAD(first)
{
    *shared = 1; // [a]
    return NULL;
}

THREAD(second)
{
    library_write();
    return NULL;
}

int main(void)
{
    void *handle = dlopen("./library_traced.so", RTLD_NOW);
    if (!handle)
        return 1;
    shared = dlsym(handle, "shared");
    *(void **)&library_write = dlsym(handle, "library_write");
    run_two(first, second);
    dlclose(handle);
    return 0;
}
