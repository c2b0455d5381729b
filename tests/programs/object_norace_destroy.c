// Objects are destroyed right after the last use that they themselves order, as POSIX allows.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

#include <semaphore.h>
#include <threads.h>

enum { ROUNDS = 50 };

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    pthread_rwlock_t rwlock;
    sem_t sem;
    mtx_t mtx;
    int references, done;
};

static void put(struct shared *s) /* who comes last destroys */
{
    pthread_mutex_lock(&s->mutex);
    int left = --s->references;
    pthread_mutex_unlock(&s->mutex);
    if (left)
        return;
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

static void use(struct shared *s, int first)
{
    mtx_lock(&s->mtx);
    mtx_unlock(&s->mtx);
    pthread_rwlock_rdlock(&s->rwlock);
    pthread_rwlock_unlock(&s->rwlock);
    if (pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_barrier_destroy(&s->barrier);
        pthread_rwlock_destroy(&s->rwlock);
        mtx_destroy(&s->mtx);
    }
    pthread_mutex_lock(&s->mutex);
    if (first) {
        while (!s->done)
            pthread_cond_wait(&s->cond, &s->mutex);
    } else {
        s->done = 1;
        pthread_cond_broadcast(&s->cond);
        pthread_cond_destroy(&s->cond); /* all are woken: POSIX allows it */
    }
    pthread_mutex_unlock(&s->mutex);
    if (first)
        sem_post(&s->sem);
    else
        while (sem_wait(&s->sem) || sem_destroy(&s->sem))
            ;
    put(s);
}

THREAD(other)
{
    use(arg, 0);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct shared *s = calloc(1, sizeof *s);
        pthread_mutex_init(&s->mutex, NULL);
        pthread_cond_init(&s->cond, NULL);
        pthread_barrier_init(&s->barrier, NULL, 2);
        pthread_rwlock_init(&s->rwlock, NULL);
        sem_init(&s->sem, 0, 0);
        mtx_init(&s->mtx, mtx_plain);
        s->references = 2;
        pthread_t t = start(other, s);
        use(s, 1);
        pthread_join(t, NULL);
    }
    return 0;
}
