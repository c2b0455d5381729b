// The same with small blocks that travel: one thread frees what another allocated, under a lock.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *box;

THREAD(work)
{
    for (int i = 0; i < 300; i++) {
        int *p = malloc(24);
        *p = i;
        pthread_mutex_lock(&lock);
        int *old = box;
        box = p;
        pthread_mutex_unlock(&lock);
        if (old)
            *old = 0;
        free(old);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    free(box);
    return 0;
}
