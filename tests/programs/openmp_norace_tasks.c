// taskwait, taskgroup, taskloop, and tasks that a barrier waits for.
// stdout: 6765 10 4950 45
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

long a[100];
int grand, at_barrier[10];

static long fib(int n)
{
    long x, y;
    if (n < 8)
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
#pragma omp task shared(x)
    x = fib(n - 1);
#pragma omp task shared(y)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

int main(void)
{
    long f = 0, sum = 0, more = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        {
            f = fib(20);
#pragma omp taskgroup
            {
#pragma omp task
                {
#pragma omp task
                    grand = 10;
                }
            }
            USE(grand);
#pragma omp taskloop grainsize(5)
            for (int i = 0; i < 100; i++)
                a[i] = i;
            for (int i = 0; i < 100; i++)
                sum += a[i];
        }
#pragma omp single nowait
        for (int i = 0; i < 10; i++)
#pragma omp task firstprivate(i)
            at_barrier[i] = i;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 10; i++)
            more += at_barrier[i];
    }
    printf("%ld %d %ld %ld\n", f, grand, sum, more);
    return 0;
}
