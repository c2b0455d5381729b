// Double-checked locking done right.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *instance, object;

static int *get(void)
{
    int *p = __atomic_load_n(&instance, __ATOMIC_ACQUIRE);
    if (!p) {
        pthread_mutex_lock(&lock);
        p = instance;
        if (!p) {
            object = 7;
            p = &object;
            __atomic_store_n(&instance, p, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    return p;
}

THREAD(work)
{
    USE(*get());
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
