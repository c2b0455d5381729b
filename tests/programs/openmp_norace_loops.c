// Regions and loops one after the other, with different teams.
// stdout: 79800
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

enum { N = 400 };
int a[N], b[N];

int main(void)
{
    long sum = 0;
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < N; i++)
        b[N - 1 - i] = a[i];
    for (int i = 0; i < N; i++)
        a[i] = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < N; i++)
            a[i] = b[i];
#pragma omp for schedule(guided)
        for (int i = 0; i < N; i++)
            b[i] = a[N - 1 - i];
    }
    for (int i = 0; i < N; i++)
        sum += b[i];
    printf("%ld\n", sum);
    return 0;
}
