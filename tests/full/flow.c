/* flow.c - threads that pass values on without any synchronisation that the trace could see
 *
 * A ring of threads: each waits (plain, volatile) for its cell, then writes the next one's. The
 * merged order must be one in which reads see what they saw.
 */
#include "say.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 3, ROUNDS = 200 };
volatile long cells[THREADS][16], noise[THREADS][16];

static void *work(void *arg)
{
    long me = (long)arg;

    for (long i = 1; i <= ROUNDS; i++) {
        while (cells[me][0] != i)
            sched_yield();
        noise[me][i % 16] = i;
        cells[(me + 1) % THREADS][0] = me + 1 == THREADS ? i + 1 : i;
    }
    return 0;
}

int main(void)
{
    pthread_t t[THREADS];

    cells[0][0] = 1;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    say("low", (unsigned long long)&cells);
    say("high", (unsigned long long)(&cells + 1));
    return 0;
}
