// The second loop does not wait for the first, and goes the other way round.
// race: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

enum { N = 400 };
int a[N], b[N];

int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp for nowait schedule(static)
        for (int i = 0; i < N; i++)
            a[i] = i; // [a]
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            b[i] = a[N - 1 - i]; // [b]
    }
    return 0;
}
