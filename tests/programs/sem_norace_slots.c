// A ring of four slots between two threads, guarded by counts of free and full ones.
// full: also
// gcc: also
#include "prog.h"
#include <semaphore.h>

enum { SLOTS = 4, ITEMS = 40 };
sem_t vacant, full, again;
int ring[SLOTS], sum, turn;

THREAD(produce)
{
    for (int i = 0; i < ITEMS; i++) {
        sem_wait(&vacant);
        ring[i % SLOTS] = i;
        sem_post(&full);
    }
    return NULL;
}

THREAD(consume)
{
    for (int i = 0; i < ITEMS; i++) {
        sem_wait(&full);
        sum += ring[i % SLOTS];
        sem_post(&vacant);
    }
    return NULL;
}

THREAD(guarded)
{
    sem_wait(&again);
    turn++;
    sem_post(&again);
    return NULL;
}

int main(void)
{
    sem_init(&vacant, 0, SLOTS);
    sem_init(&full, 0, 0);
    run_two(produce, consume);
    for (int value = 3; value > 0; value -= 2) {
        sem_init(&again, 0, (unsigned)value);
        if (value == 1)
            run_two(guarded, guarded);
        sem_destroy(&again);
    }
    return sum != ITEMS * (ITEMS - 1) / 2 || turn != 2;
}
