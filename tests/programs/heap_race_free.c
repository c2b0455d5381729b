// A free is a write to the whole block.
// race: a b
// gcc: also
#include "prog.h"

int *p, used;

THREAD(user)
{
    USE(p[3]); // [a]
    tell(&used);
    return NULL;
}

THREAD(freer)
{
    await(&used);
    free(p); // [b]
    return NULL;
}

int main(void)
{
    p = calloc(4, sizeof(int));
    run_two(user, freer);
    return 0;
}
