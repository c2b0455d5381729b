/* Which sites two threads used on the same bytes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static int both, one[2], handed;
static char bytes[8];
static atomic_int counter;
static int *volatile box;
static volatile int sink;
static NOINLINE void writes(void)
{
    both++;
}
static NOINLINE int reads(void)
{
    return both;
}
static NOINLINE void own(long i)
{
    one[i]++;
}
static NOINLINE void own_byte(long i)
{
    bytes[i]++;
}
static NOINLINE void adds(void)
{
    counter++;
}
static NOINLINE void before(int *p)
{
    *p = 1;
}
static NOINLINE void after(int *p)
{
    *p = 2;
}
static NOINLINE void reused(int *p)
{
    *p = 3;
}
static NOINLINE void reads_only(void)
{
    box = handed ? NULL : box;
}
static void *worker(void *arg)
{
    int *p = malloc(32);
    writes();
    sink = reads();
    own((long)arg);
    own_byte((long)arg);
    adds();
    reads_only();
    reused(p);
    free(p);
    return NULL;
}
static void *taker(void *arg)
{
    after(arg);
    return NULL;
}
static void run(void *(*f)(void *), void *arg)
{
    pthread_t t;
    pthread_create(&t, NULL, f, arg);
    pthread_join(t, NULL);
}
int main(void)
{
    int *p = malloc(32);
    before(p);
    run(worker, (void *)0);
    run(worker, (void *)1);
    run(taker, p);
    return 0;
}
