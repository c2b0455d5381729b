// Escaping locals of two threads, each its own; joined results.
// flags: -O0
// flags: -O2
#include "prog.h"

static void fill(int *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = i;
}

THREAD(work)
{
    int local[64];
    fill(local, 64);
    *(int *)arg = local[63];
    return NULL;
}

int main(void)
{
    int r[2];
    pthread_t a = start(work, &r[0]), b = start(work, &r[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return r[0] + r[1] - 126;
}
