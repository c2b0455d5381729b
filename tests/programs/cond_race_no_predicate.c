// A wait may end without a signal: who checks no condition under the mutex is not ordered by it.
// race: a b
// race: c d
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data, other, waits, first, second;

THREAD(receiver)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    pthread_mutex_lock(&lock);
    waits = 1;
    pthread_cond_wait(&cond, &lock);
    USE(data); // [b]
    tell(&first);
    waits = 2;
    pthread_cond_timedwait(&cond, &lock, &until);
    USE(other); // [d]
    tell(&second);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int waits_now(void)
{
    pthread_mutex_lock(&lock);
    int n = waits;
    pthread_mutex_unlock(&lock);
    return n;
}

int main(void)
{
    pthread_t t = start(receiver, NULL);
    while (waits_now() < 1)
        pause_ms(1);
    data = 1; // [a]
    pthread_cond_signal(&cond);
    await(&first);
    while (waits_now() < 2)
        pause_ms(1);
    other = 1; // [c]
    pthread_cond_broadcast(&cond);
    await(&second);
    pthread_join(t, NULL);
    return 0;
}
