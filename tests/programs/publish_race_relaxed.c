// A pointer published by a relaxed store: what it leads to was filled in unordered.
// race: a b
// gcc: also
#include "prog.h"
#include <stdatomic.h>

struct thing {
    int value;
} thing;
static _Atomic(struct thing *) published;

THREAD(writer)
{
    thing.value = 1; // [a]
    atomic_store_explicit(&published, &thing, memory_order_relaxed);
    return NULL;
}

THREAD(reader)
{
    struct thing *t;

    while (!(t = atomic_load_explicit(&published, memory_order_acquire)))
        pause_ms(1);
    USE(t->value); // [b]
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
