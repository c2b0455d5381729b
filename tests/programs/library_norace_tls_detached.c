// The thread-local variable of a late library lies on the heap. The C library frees that of a
// detached thread when another thread gets its stack; nothing in the program orders that.
// gcc: also
// library: library_tls.c traced dlopen
#include "prog.h"
#include <dlfcn.h>
#include <signal.h>

int (*count)(void);
static pid_t worker;

THREAD(work)
{
    __atomic_store_n(&worker, gettid(), __ATOMIC_RELAXED);
    count();
    return NULL;
}

/* Until the kernel does not know it any more: its stack can be used again. */
static void wait_for_end(void)
{
    pid_t tid;
    while (!(tid = __atomic_exchange_n(&worker, 0, __ATOMIC_RELAXED)))
        pause_ms(1);
    while (tgkill(getpid(), tid, 0) == 0)
        pause_ms(1);
}

int main(void)
{
    void *handle = dlopen("./library_tls.so", RTLD_NOW);
    if (!handle)
        return 1;
    *(void **)&count = dlsym(handle, "count");
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        pthread_create(&t, NULL, work, NULL);
        pthread_detach(t);
        wait_for_end();
    }
    return count() - 1;
}
