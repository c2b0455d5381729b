// A thread-local variable in a traced library that is loaded late.
// library: library_tls.c traced dlopen
#include "prog.h"
#include <dlfcn.h>

int (*count)(void);

THREAD(work)
{
    count();
    return (void *)(intptr_t)count();
}

int main(void)
{
    void *handle = dlopen("./library_tls.so", RTLD_NOW);
    if (!handle)
        return 1;
    *(void **)&count = dlsym(handle, "count");
    for (int i = 0; i < 3; i++)
        run_two(work, work);
    return count() - 1;
}
