// A hazard pointer: the reader says what it uses, the writer frees it once nobody says so.
// gcc: also
#include "prog.h"
#include <stdatomic.h>

struct thing {
    int value;
};
static _Atomic(struct thing *) current, hazard;

static struct thing *thing_new(int value)
{
    struct thing *t = malloc(sizeof(*t));

    t->value = value;
    return t;
}

THREAD(reader)
{
    for (int i = 0; i < 20; i++) {
        struct thing *t;

        do {
            t = atomic_load_explicit(&current, memory_order_acquire);
            atomic_store(&hazard, t);
        } while (atomic_load(&current) != t);
        USE(t->value);
        atomic_store_explicit(&hazard, NULL, memory_order_release);
        pause_ms(1);
    }
    return NULL;
}

THREAD(writer)
{
    for (int i = 0; i < 20; i++) {
        struct thing *old = atomic_exchange(&current, thing_new(i));

        while (atomic_load(&hazard) == old)
            pause_ms(1);
        free(old);
        pause_ms(1);
    }
    return NULL;
}

int main(void)
{
    atomic_store(&current, thing_new(-1));
    run_two(reader, writer);
    free(atomic_load(&current));
    return 0;
}
