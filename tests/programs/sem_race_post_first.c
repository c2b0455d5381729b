// The post comes before the write it should announce.
// race: a b
#include "prog.h"
#include <semaphore.h>

sem_t sem;
int x;

THREAD(sender)
{
    sem_post(&sem);
    x = 1; // [a]
    return NULL;
}

THREAD(receiver)
{
    sem_wait(&sem);
    USE(x); // [b]
    return NULL;
}

int main(void)
{
    sem_init(&sem, 0, 0);
    run_two(sender, receiver);
    return 0;
}
