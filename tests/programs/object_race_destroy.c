// Objects are destroyed although another thread may use them: nothing orders the two.
// race: mutex m
// race: rwlock r
// race: spin s
// race: cond c
// race: sem p
// race: memory free
#include "prog.h"

#include <semaphore.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, *heap;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
sem_t sem;
int used;

THREAD(user)
{
    pthread_cond_signal(&cond); // [cond]
    sem_post(&sem);             // [sem]
    pthread_mutex_lock(heap);
    pthread_mutex_unlock(heap); // [memory]
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex); // [mutex]
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock); // [rwlock]
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin); // [spin]
    tell(&used);
    return NULL;
}

int main(void)
{
    pthread_t t;
    heap = malloc(sizeof *heap);
    *heap = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_spin_init(&spin, 0);
    sem_init(&sem, 0, 0);
    t = start(user, NULL);
    await(&used);
    pthread_mutex_destroy(&mutex);   // [m]
    pthread_rwlock_destroy(&rwlock); // [r]
    pthread_spin_destroy(&spin);     // [s]
    pthread_cond_destroy(&cond);     // [c]
    sem_destroy(&sem);               // [p]
    free(heap);                      // [free]
    pthread_join(t, NULL);
    return 0;
}
