// realloc that moves frees the old block under a reader.
// race: a b
#include "prog.h"

int *p, *q, used;

THREAD(reader)
{
    USE(p[0]); // [a]
    tell(&used);
    return NULL;
}

THREAD(mover)
{
    await(&used);
    q = realloc(p, 1 << 20); // [b]
    return NULL;
}

int main(void)
{
    p = calloc(4, sizeof(int));
    run_two(reader, mover);
    free(q);
    return 0;
}
