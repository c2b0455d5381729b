// The same in the other order: the access comes after the free.
// race: a b
#include "prog.h"

int *p, gone;

THREAD(user)
{
    await(&gone);
    USE(p[3]); // [a]
    return NULL;
}

THREAD(freer)
{
    free(p); // [b]
    tell(&gone);
    return NULL;
}

int main(void)
{
    p = calloc(4, sizeof(int));
    run_two(user, freer);
    return 0;
}
