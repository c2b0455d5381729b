/* A pointer with a tag, by calls of libatomic: stored, exchanged, compared. */
#include <pthread.h>
#include <stdlib.h>

struct tagged {
    int *p;
    unsigned long tag;
};
static struct tagged a, b, c;

static void *run(void *arg)
{
    struct tagged x;

    do
        __atomic_load(&a, &x, __ATOMIC_ACQUIRE);
    while (!x.p);
    ++*x.p;
    do
        __atomic_load(&b, &x, __ATOMIC_ACQUIRE);
    while (!x.p);
    ++*x.p;
    do
        __atomic_load(&c, &x, __ATOMIC_ACQUIRE);
    while (!x.p);
    ++*x.p;
    return arg;
}

int main(void)
{
    int *p = malloc(4), *q = malloc(4), *r = malloc(4);
    struct tagged x = { p, 1 }, y = { q, 2 }, z = { r, 3 }, old = { 0 };
    pthread_t t;

    pthread_create(&t, 0, run, 0);
    __atomic_store(&a, &x, __ATOMIC_RELEASE);
    __atomic_exchange(&b, &y, &old, __ATOMIC_ACQ_REL);
    old = (struct tagged){ 0 };
    __atomic_compare_exchange(&c, &old, &z, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *p = 1;
    *q = 1;
    *r = 1;
    pthread_join(t, 0);
    return 0;
}
