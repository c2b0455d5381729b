// The same in the other order: the access comes after the free.
// race: a b
#include "prog.h"

int *p;

THREAD(user)
{
    pause_ms(20);
    USE(p[3]); // [a]
    return NULL;
}

THREAD(freer)
{
    free(p); // [b]
    return NULL;
}

int main(void)
{
    p = calloc(4, sizeof(int));
    run_two(user, freer);
    return 0;
}
