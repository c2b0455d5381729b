/* sandbox_late.c - preloaded: the first thread that is made takes its time to begin, and makes
 * system calls meanwhile, as the C library does, on a busy machine. In a production run that is the
 * runtime's own thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static void *(*first)(void *);

static void *late(void *arg)
{
    struct timespec moment = { 0, 1000 * 1000 };

    for (int i = 0; i < 400; i++) {
        nanosleep(&moment, NULL);
        getppid();
    }
    return first(arg);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                   void *(*start)(void *), void *restrict arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *(*none)(void *) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (__atomic_compare_exchange_n(&first, &none, start, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        start = late;
    return real(thread, attr, start, arg);
}
