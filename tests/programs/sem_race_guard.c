// A semaphore of two around a section: in most runs one thread comes after the other.
// predicted: a a
// gcc: also
// tsan: misses
#include "prog.h"
#include <semaphore.h>

sem_t sem;
int x;

THREAD(work)
{
    sem_wait(&sem);
    x++; // [a]
    sem_post(&sem);
    return NULL;
}

int main(void)
{
    sem_init(&sem, 0, 2);
    run_two(work, work);
    return 0;
}
