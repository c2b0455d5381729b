// One thread forgets the spin lock.
// race: a b
#include "prog.h"

pthread_spinlock_t lock;
int x;

THREAD(locks)
{
    pthread_spin_lock(&lock);
    x++; // [a]
    pthread_spin_unlock(&lock);
    return NULL;
}

THREAD(forgets)
{
    x++; // [b]
    return NULL;
}

int main(void)
{
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    run_two(locks, forgets);
    return 0;
}
