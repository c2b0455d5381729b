// Unlocked one line too early. The lock orders only what stands inside.
// race: a a
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t both;
int x;

THREAD(work)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&both);
    x++; // [a]
    return NULL;
}

int main(void)
{
    pthread_barrier_init(&both, NULL, 2);
    run_two(work, work);
    return 0;
}
