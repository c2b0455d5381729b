// A mutex is taken by pthread_mutex_clocklock, a semaphore by sem_clockwait.
// issue: https://github.com/llvm/llvm-project/issues/62623
// tool: ThreadSanitizer
// there: false alarm; the functions that POSIX added with a clock are not intercepted
// verdict: no race; they synchronize memory as those without a clock (POSIX.1-2024 4.15.2)
#include "prog.h"
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t sem;
int counter, letter;

THREAD(other)
{
    struct timespec until;

    letter = 1;
    sem_post(&sem);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1000;
    if (!pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &until)) {
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    struct timespec until;

    sem_init(&sem, 0, 0);
    pthread_t t = start(other, NULL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1000;
    if (!pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &until)) {
        counter++;
        pthread_mutex_unlock(&lock);
    }
    while (sem_clockwait(&sem, CLOCK_MONOTONIC, &until))
        ;
    letter++;
    pthread_join(t, NULL);
    return counter + letter - 4;
}
