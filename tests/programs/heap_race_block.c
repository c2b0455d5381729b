// A heap block given to two threads.
// race: a b
// gcc: also
#include "prog.h"

THREAD(first)
{
    ((int *)arg)[2] = 1; // [a]
    return NULL;
}

THREAD(second)
{
    ((int *)arg)[2] = 2; // [b]
    return NULL;
}

int main(void)
{
    int *p = calloc(4, sizeof(int));
    pthread_t a = start(first, p), b = start(second, p);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(p);
    return 0;
}
