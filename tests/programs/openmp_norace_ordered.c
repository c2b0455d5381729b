// Ordered blocks, and a loop whose iterations wait for earlier ones.
// stdout: 99 4950
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

enum { N = 100 };
int last = -1, a[N];

int main(void)
{
    int bad = 0;
#pragma omp parallel for ordered num_threads(4) schedule(dynamic)
    for (int i = 0; i < N; i++) {
#pragma omp ordered
        {
            bad += last != i - 1;
            last = i;
        }
    }
#pragma omp parallel for ordered(1) num_threads(4) schedule(static, 1)
    for (int i = 1; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
        a[i] = a[i - 1] + i;
#pragma omp ordered depend(source)
    }
    printf("%d %d\n", last, a[N - 1]);
    return bad;
}
