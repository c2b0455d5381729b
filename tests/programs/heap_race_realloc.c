// realloc that moves frees the old block under a reader.
// race: a b
#include "prog.h"

int *p, *q;

THREAD(reader)
{
    USE(p[0]); // [a]
    return NULL;
}

THREAD(mover)
{
    pause_ms(20);
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
