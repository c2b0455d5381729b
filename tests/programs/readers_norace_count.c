// A count of readers under a lock; the writer waits for it to become zero.
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t none = PTHREAD_COND_INITIALIZER;
int readers, data;

THREAD(reader)
{
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        readers++;
        pthread_mutex_unlock(&lock);
        USE(data);
        pthread_mutex_lock(&lock);
        if (--readers == 0)
            pthread_cond_signal(&none);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

THREAD(writer)
{
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        while (readers)
            pthread_cond_wait(&none, &lock);
        data++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t t = start(reader, NULL);
    run_two(reader, writer);
    pthread_join(t, NULL);
    return data - 10;
}
