// Relaxed accesses, made into message passing by two fences.
// flags: -O0
// flags: -O2
// gcc: also
// tsan: false alarm
#include "prog.h"
#include <stdatomic.h>

int data;
atomic_int flag;

THREAD(sender)
{
    data = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

THREAD(receiver)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return data - 2;
}
