// A wait that timed out orders nothing.
// race: a b
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int data;

THREAD(sender)
{
    data = 1; // [a]
    pthread_cond_signal(&cond);
    return NULL;
}

THREAD(receiver)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&cond, &lock, &now);
    pthread_mutex_unlock(&lock);
    USE(data); // [b]
    return NULL;
}

int main(void)
{
    pthread_t t = start(sender, NULL);
    pause_ms(20);
    receiver(NULL);
    pthread_join(t, NULL);
    return 0;
}
