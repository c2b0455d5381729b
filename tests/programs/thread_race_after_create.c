// What the parent does after the create is not ordered.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

int x, y;

THREAD(child)
{
    y++;
    x = 1; // [a]
    return NULL;
}

int main(void)
{
    y = 1;
    pthread_t t = start(child, NULL);
    x = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
