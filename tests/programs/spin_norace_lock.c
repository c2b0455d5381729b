// pthread spin locks, also by trylock.
// gcc: also
#include "prog.h"

pthread_spinlock_t lock;
int x;

THREAD(locks)
{
    for (int i = 0; i < 50; i++) {
        pthread_spin_lock(&lock);
        x++;
        pthread_spin_unlock(&lock);
    }
    return NULL;
}

THREAD(tries)
{
    while (pthread_spin_trylock(&lock))
        sched_yield();
    x++;
    pthread_spin_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    run_two(locks, tries);
    pthread_spin_destroy(&lock);
    return x - 51;
}
