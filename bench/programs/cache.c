/* cache - a hash table with a lock per stripe; statistics and the clock are nobody's */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STRIPES = 4, KEYS = 32, THREADS = 4, STEPS = 100 };

struct entry {
    long value;
    unsigned used; /* of the stripe's owner */
};
static pthread_mutex_t stripes[STRIPES];
static struct entry entries[KEYS];
static atomic_long users;
static unsigned now, hits, misses;
static long local_sums[THREADS];
static pthread_t threads[THREADS];
static int numbers[THREADS];

static void lock_key(int key)
{
    pthread_mutex_lock(&stripes[key % STRIPES]);
}

static void unlock_key(int key)
{
    pthread_mutex_unlock(&stripes[key % STRIPES]);
}

static void come(void)
{
    atomic_fetch_add(&users, 1);
}

static void go(void)
{
    atomic_fetch_sub(&users, 1);
}

static unsigned tick(void)
{
    return ++now; /* RACE now */
}

static long get(int key)
{
    struct entry *e = &entries[key];

    if (e->value)
        hits++; /* RACE hits */
    else
        misses++;  /* RACE misses */
    e->used = now; /* RACE now, RACE used! */
    return e->value;
}

static void set(int key, long value)
{
    entries[key].value = value;
    entries[key].used = tick(); /* RACE used! */
}

/* Forgets to take the lock. */
static unsigned age(int key)
{
    return now - entries[key].used; /* RACE now, RACE used */
}

static void *use(void *arg)
{
    int me = *(int *)arg;

    come();
    for (int i = 0; i < STEPS; i++) {
        int key = (i * 5 + me * 3) % KEYS;

        lock_key(key);
        if (i % 3 == 0)
            set(key, i + me + 1);
        else
            local_sums[me] += get(key);
        unlock_key(key);
        if (i % 16 == 15) {
            local_sums[me] += age(key) > 1000000;
            usleep(100); /* let the others run */
        }
    }
    go();
    return NULL;
}

static void start(void)
{
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, use, &numbers[i]))
            exit(1);
    }
}

static void finish(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int is_sane(void)
{
    long sum = 0;

    for (int i = 0; i < THREADS; i++)
        sum += local_sums[i];
    return sum > 0 && hits + misses > 0;
}

int main(void)
{
    start();
    finish();
    puts(is_sane() ? "sane" : "odd");
    return 0;
}
