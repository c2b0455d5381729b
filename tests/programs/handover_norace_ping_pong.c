// Two threads take turns by a number under a lock; the data has no lock.
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int turn, data;

THREAD(play)
{
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        while (turn != me)
            pthread_cond_wait(&cond, &lock);
        pthread_mutex_unlock(&lock);
        data++;
        pthread_mutex_lock(&lock);
        turn = !me;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t a = start(play, (void *)0), b = start(play, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return data - 40;
}
