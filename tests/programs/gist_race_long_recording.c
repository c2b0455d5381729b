// A predicted race in a recording of half a million events, nearly all of them private to their
// threads: engines decide on the gist (cascade.md), the schedule is one of the whole recording.
// predicted: a b
#include "prog.h"

enum { MANY = 510000, SOME = 5000 };
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int parcel, seen[2];
int *many, *some; /* written before the threads begin */

static void sign(int who)
{
    pthread_mutex_lock(&lock);
    seen[who] = 1;
    pthread_mutex_unlock(&lock);
}

static void fill(int *p, long n)
{
    for (long i = 0; i < n; i++)
        p[i * 7919 % n] = (int)i;
}

THREAD(bystander)
{
    fill(many, MANY);
    return NULL;
}

THREAD(first)
{
    fill(some, SOME);
    parcel = 42; // [a]
    sign(0);
    return NULL;
}

THREAD(second)
{
    usleep(50000);
    sign(1);
    return parcel ? NULL : &parcel; // [b]
}

int main(void)
{
    pthread_t thread;

    many = malloc(MANY * sizeof(*many));
    some = malloc(SOME * sizeof(*some));
    pthread_create(&thread, NULL, bystander, NULL);
    run_two(first, second);
    pthread_join(thread, NULL);
    free(many);
    free(some);
    return 0;
}
