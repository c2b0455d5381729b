// The program changes a job's data after it has handed it over.
// library: untraced_pool.c untraced
// race: a b
#include "prog.h"
#include "untraced_pool.h"

static int data, started;

static void use(void *arg)
{
    (void)arg;
    tell(&started);
    USE(data); // [a]
}

int main(void)
{
    pool_start(1);
    pool_push(use, NULL);
    await(&started);
    data = 1; // [b]
    pool_wait();
    pool_stop();
    return 0;
}
