/* endless.c - a program that works for long, with races where it is asked for
 *
 *     endless ROUNDS [first] [last]
 *
 * Four threads lock, nest, read and write, meet at barriers, take turns by semaphores, pass memory
 * on, and start short threads, ROUNDS times; main holds a lock all the time. `first` races in the
 * first rounds, `last` in the last ones, on other variables; with -DALWAYS all race.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, RACES = 40, MEET = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, all = PTHREAD_MUTEX_INITIALIZER, nest;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meet;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t turn[THREADS];
static int rounds, first, last;
static long counter, nested, guarded, passed, phase[THREADS], begun, raced_first, raced_last;
static _Atomic int flag;
static long message, *block;

static void begin(void)
{
    begun = 1;
}

static void *short_thread(void *arg)
{
    *(long *)arg += 1;
    return NULL;
}

static void with_locks(int i)
{
    pthread_mutex_lock(&lock);
    counter++;
    free(block);
    block = malloc(16 + (size_t)counter % 100);
    block[0] = i;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&nest);
    pthread_mutex_lock(&nest);
    nested++;
    pthread_mutex_unlock(&nest);
    nested++; /* still guarded */
    pthread_mutex_unlock(&nest);
    if (i % 11) {
        pthread_rwlock_rdlock(&rw);
        if (guarded < 0)
            abort();
    } else {
        pthread_rwlock_wrlock(&rw);
        guarded++;
    }
    pthread_rwlock_unlock(&rw);
}

static void at_barrier(int id, int i)
{
    phase[id] = i;
    pthread_barrier_wait(&meet);
    for (int k = 0; k < THREADS; k++)
        if (phase[k] != i)
            abort();
    pthread_barrier_wait(&meet);
    sem_wait(&turn[id]);
    passed++;
    sem_post(&turn[(id + 1) % THREADS]);
    pthread_once(&once, begin);
    if (!begun)
        abort();
}

static void by_flag(int id, int i)
{
    pthread_t t;
    long own = 0;

    if (id == 0 && atomic_load(&flag) == 0) {
        message = i;
        atomic_store_explicit(&flag, 1, memory_order_release);
    } else if (id == 1 && atomic_load_explicit(&flag, memory_order_acquire) == 1) {
        message++;
        atomic_store_explicit(&flag, 0, memory_order_release);
    }
    if (i % 100 == 0 && pthread_create(&t, NULL, short_thread, &own) == 0)
        pthread_join(t, NULL);
}

static void *run(void *arg)
{
    int id = (int)(long)arg;

    for (int i = 0; i < rounds; i++) {
        with_locks(i);
        by_flag(id, i);
        if (i % MEET == 0)
            at_barrier(id, i);
        if (first && i < RACES)
            raced_first++;
        if (last && i >= rounds - RACES)
            raced_last++;
#ifdef ALWAYS
        raced_last++;
#endif
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    pthread_mutexattr_t a;

    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    for (int i = 2; i < argc; i++) {
        first |= !strcmp(argv[i], "first");
        last |= !strcmp(argv[i], "last");
    }
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&nest, &a);
    pthread_barrier_init(&meet, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        sem_init(&turn[i], 0, i == 0);
    pthread_mutex_lock(&all);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, run, (void *)i);
    for (long i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_unlock(&all);
    return counter == (long)THREADS * rounds ? 0 : 1;
}
