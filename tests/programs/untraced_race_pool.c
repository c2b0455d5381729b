// Two jobs that run at the same time, in threads of a library.
// library: untraced_pool.c untraced
// race: a b
// never: a c
#include "prog.h"
#include "untraced_pool.h"

static int x, one, two;

static void first(void *arg)
{
    (void)arg;
    tell(&one);
    await(&two);
    x = 1; // [a]
}

static void second(void *arg)
{
    (void)arg;
    tell(&two);
    await(&one);
    x = 2; // [b]
}

int main(void)
{
    pool_start(2);
    pool_push(first, NULL);
    pool_push(second, NULL);
    pool_wait();
    USE(x); // [c]
    pool_stop();
    return 0;
}
