// A lock in functions that are excluded from tracing, in the same file.
// flags: -O2 --exclude=fun:my_*
// options: --engine rdit
#include "prog.h"

struct lock {
    int taken;
};
static struct lock lock;
static int x;

static void my_take(struct lock *l)
{
    while (__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
        pause_ms(1);
}

static void my_drop(struct lock *l)
{
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

THREAD(work)
{
    my_take(&lock);
    x++;
    my_drop(&lock);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 2;
}
