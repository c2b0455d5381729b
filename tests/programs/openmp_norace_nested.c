// Teams within teams; the outer variables are the inner thread's after the join.
// stdout: 40
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int a[4][5];

int main(void)
{
    int sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num(), row = 0;
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < 5; i++)
            a[me][i] = 2;
        for (int i = 0; i < 5; i++)
            row += a[me][i];
#pragma omp critical
        sum += row;
    }
    printf("%d\n", sum);
    return 0;
}
