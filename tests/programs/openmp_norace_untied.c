// Untied tasks may go on in another thread.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int a[20];

static void half(int i)
{
#pragma omp task untied firstprivate(i)
    {
        a[i] = 1;
#pragma omp taskyield
        a[i]++;
#pragma omp task if (0)
        a[i]++;
#pragma omp taskwait
        a[i]++;
    }
}

int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 20; i++)
        half(i);
    for (int i = 0; i < 20; i++)
        sum += a[i];
    return sum != 80;
}
