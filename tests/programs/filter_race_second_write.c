// The first write is ordered by the semaphore, the second, by the same thread, is not.
// race: b c
// never: a c
// gcc: also
#include "prog.h"
#include <semaphore.h>

sem_t sem;
int x;

THREAD(writer)
{
    x = 1; // [a]
    sem_post(&sem);
    x = 2; // [b]
    return NULL;
}

THREAD(reader)
{
    sem_wait(&sem);
    USE(x); // [c]
    return NULL;
}

int main(void)
{
    sem_init(&sem, 0, 0);
    run_two(writer, reader);
    return 0;
}
