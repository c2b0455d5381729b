// A pointer to main's thread-local variable makes it shared.
// race: a b
#include "prog.h"

_Thread_local int mine;

THREAD(child)
{
    *(int *)arg = 1; // [a]
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, &mine);
    mine = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
