// Message passing: a release store read by an acquire load.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"
#include <stdatomic.h>

int data;
atomic_int flag;

THREAD(sender)
{
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return NULL;
}

THREAD(receiver)
{
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        sched_yield();
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return data - 2;
}
