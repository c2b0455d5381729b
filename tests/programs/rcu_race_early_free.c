// RCU written by hand whose writer does not wait for the reader that is inside.
// race: a b
// gcc: also
#include "prog.h"
#include <stdatomic.h>

struct thing {
    int value;
};
static _Atomic(struct thing *) current;
static atomic_int inside;
static int used;

THREAD(reader)
{
    atomic_store(&inside, 1);
    USE(atomic_load(&current)->value); // [a]
    tell(&used);
    pause_ms(20);
    atomic_store(&inside, 0);
    return NULL;
}

THREAD(writer)
{
    struct thing *old, *new = calloc(1, sizeof(*new));

    await(&used);
    old = atomic_exchange(&current, new);
    free(old); // [b]
    return NULL;
}

int main(void)
{
    atomic_store(&current, calloc(1, sizeof(struct thing)));
    run_two(reader, writer);
    free(atomic_load(&current));
    return 0;
}
