// A traced library is loaded, used and unloaded by one thread and then by another: the loader
// orders the two, and each time its variables are new memory.
// library: library_traced.c traced dlopen
// gcc: also
// tsan: false alarm
#include "prog.h"
#include <dlfcn.h>

int gone;

THREAD(work)
{
    for (int i = 0; i < 5; i++) {
        void *handle = dlopen("./library_traced.so", RTLD_NOW), *f = dlsym(handle, "library_write");
        ((void (*)(void))f)();
        dlclose(handle);
    }
    tell(&gone);
    return NULL;
}

THREAD(later)
{
    await(&gone);
    return work(NULL);
}

int main(void)
{
    run_two(work, later);
    return 0;
}
