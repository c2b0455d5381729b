// Eight megabytes, interleaved element by element: more than any filter or table holds.
// flags: -O2
#include "prog.h"

enum { N = 1 << 19 };
long big[2 * N];

THREAD(work)
{
    for (long i = (intptr_t)arg; i < 2 * N; i += 2)
        big[i] = i;
    return NULL;
}

int main(void)
{
    pthread_t a = start(work, (void *)0), b = start(work, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return big[2 * N - 1] != 2 * N - 1;
}
