// Double-checked locking with a plain pointer: the first check has no order.
// race: a b
// may: c d
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *instance, object;

static int *get(void)
{
    if (!instance) { // [a]
        pthread_mutex_lock(&lock);
        if (!instance) {
            object = 7;         // [c]
            instance = &object; // [b]
        }
        pthread_mutex_unlock(&lock);
    }
    return instance; // [a]
}

THREAD(work)
{
    USE(*get()); // [d]
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
