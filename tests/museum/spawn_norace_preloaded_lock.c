// The program overrides pthread_mutex_lock and calls the next definition, as recorders do.
// issue: https://github.com/rr-debugger/rr/issues/3329
// tool: rr
// there: crash; rr's override and ThreadSanitizer's count each lock twice, until 64 seem to be
//   held
// verdict: no race; each section holds the one mutex
#include "prog.h"
#include <dlfcn.h>

static pthread_mutex_t locks[70];
int x[70], calls;

int pthread_mutex_lock(pthread_mutex_t *lock)
{
    static int (*next)(pthread_mutex_t *);

    if (!__atomic_load_n(&next, __ATOMIC_ACQUIRE)) {
        int (*found)(pthread_mutex_t *) =
            (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
        __atomic_store_n(&next, found, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&next, __ATOMIC_ACQUIRE)(lock);
}

THREAD(work)
{
    for (int i = 0; i < 70; i++) {
        pthread_mutex_lock(&locks[i]);
        x[i]++;
        pthread_mutex_unlock(&locks[i]);
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 70; i++)
        pthread_mutex_init(&locks[i], NULL);
    run_two(work, work);
    return calls < 140;
}
