// A local variable of main whose address went to two threads.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

THREAD(first)
{
    *(int *)arg = 1; // [a]
    return NULL;
}

THREAD(second)
{
    *(int *)arg = 2; // [b]
    return NULL;
}

int main(void)
{
    int local = 0;
    pthread_t a = start(first, &local), b = start(second, &local);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return local == 0;
}
