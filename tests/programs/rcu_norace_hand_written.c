// RCU written by hand: readers publish that they are inside, the writer frees what it replaced when
// it has seen each of them outside.
// gcc: also
#include "prog.h"
#include <stdatomic.h>

struct thing {
    int value;
};
static _Atomic(struct thing *) current;
static atomic_int inside[2];
static atomic_int next_reader;

THREAD(reader)
{
    int me = atomic_fetch_add(&next_reader, 1);

    for (int i = 0; i < 10; i++) {
        atomic_store(&inside[me], 1);
        USE(atomic_load(&current)->value);
        atomic_store(&inside[me], 0);
        pause_ms(1);
    }
    return NULL;
}

static void synchronize(void)
{
    for (int i = 0; i < 2; i++)
        while (atomic_load(&inside[i]))
            pause_ms(1);
}

int main(void)
{
    struct thing *t = calloc(1, sizeof(*t));
    pthread_t readers[2];

    atomic_store(&current, t);
    for (int i = 0; i < 2; i++)
        readers[i] = start(reader, NULL);
    for (int i = 0; i < 10; i++) {
        struct thing *old, *new = malloc(sizeof(*new));

        new->value = i;
        old = atomic_exchange(&current, new);
        synchronize();
        free(old);
    }
    pthread_join(readers[0], NULL);
    pthread_join(readers[1], NULL);
    free(atomic_load(&current));
    return 0;
}
