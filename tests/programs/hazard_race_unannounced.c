// The reader uses a pointer that it has not announced: the writer frees it meanwhile.
// race: a b
// gcc: also
#include "prog.h"
#include <stdatomic.h>

struct thing {
    int value;
};
static _Atomic(struct thing *) current, hazard;
static int used;

THREAD(reader)
{
    struct thing *t = atomic_load_explicit(&current, memory_order_acquire);

    USE(t->value); // [a]
    tell(&used);
    return NULL;
}

THREAD(writer)
{
    struct thing *old, *new = malloc(sizeof(*new));

    new->value = 2;
    await(&used);
    old = atomic_exchange(&current, new);
    while (atomic_load(&hazard) == old)
        pause_ms(1);
    free(old); // [b]
    return NULL;
}

int main(void)
{
    struct thing *t = malloc(sizeof(*t));

    t->value = 1;
    atomic_store(&current, t);
    run_two(reader, writer);
    free(atomic_load(&current));
    return 0;
}
