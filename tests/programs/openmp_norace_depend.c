// Chains of dependences; a taskwait for one of them.
// stdout: 31 5
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y, seen[4];

int main(void)
{
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task depend(out : x)
        x = 1;
        for (int i = 0; i < 4; i++)
#pragma omp task depend(in : x) firstprivate(i)
            seen[i] = x;
#pragma omp task depend(inout : x)
        x += 30;
#pragma omp task depend(in : x) depend(out : y)
        y = x - 26;
#pragma omp taskwait depend(in : y)
        USE(y);
    }
    printf("%d %d\n", x, y);
    return 0;
}
