// The element that the next thread's first iteration overwrites.
// race: a a
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

enum { N = 400 };
int a[N + 1];

int main(void)
{
#pragma omp parallel for num_threads(4) schedule(static)
    for (int i = 0; i < N; i++)
        a[i] = a[i + 1] + 1; // [a]
    return 0;
}
