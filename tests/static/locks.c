// A common lock takes a pair out, but only of the refined variant.
// locks: with work
// pair: without work
// pair: other work
// locks: below work
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    shared++; // [work]
    pthread_mutex_unlock(&m);
    return arg;
}

__attribute__((noinline)) static void below(void)
{
    shared += 2; // [below]
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, work, NULL);
    pthread_mutex_lock(&m);
    shared++; // [with]
    below();
    pthread_mutex_unlock(&m);
    shared++; // [without]
    pthread_mutex_lock(&m2);
    shared++; // [other]
    pthread_mutex_unlock(&m2);
    pthread_join(t, NULL);
    return 0;
}
