// A pointer published by a relaxed store behind a release fence, found by a relaxed load before an
// acquire fence.
// gcc: also
// tsan: false alarm
#include "prog.h"
#include <stdatomic.h>

struct thing {
    int value;
} thing;
static _Atomic(struct thing *) published;

THREAD(writer)
{
    thing.value = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&published, &thing, memory_order_relaxed);
    return NULL;
}

THREAD(reader)
{
    struct thing *t;

    while (!(t = atomic_load_explicit(&published, memory_order_relaxed)))
        pause_ms(1);
    atomic_thread_fence(memory_order_acquire);
    USE(t->value);
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
