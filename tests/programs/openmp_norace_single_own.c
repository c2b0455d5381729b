// `single`: after the last barrier, before the next, and what belongs to the thread that runs it.
// flags: -fopenmp
// flags: -fopenmp -O2
// flags: -fopenmp -O0
#include "prog.h"

#include <omp.h>
#include <stdlib.h>

int cells[100], result, got, total, last, first_done, per_thread[8];
static __thread int kept;
static int *block_of[8];

static __attribute__((noinline)) void use(int *block)
{
    block[0]++;
}

static void own(void)
{
    int me = omp_get_thread_num(), *block = malloc(4 * sizeof(int)), array[4] = { 0 };

    block[0] = me;
    per_thread[me] = me;
    kept = me;
    use(array);
#pragma omp single nowait
    block[0] = 1;
#pragma omp single nowait
    use(block);
#pragma omp single nowait
    use(array);
#pragma omp single nowait
    per_thread[me]++;
#pragma omp single nowait
    if (me == 0)
        last = per_thread[0];
#pragma omp single nowait
    kept++;
#pragma omp single nowait
    per_thread[omp_get_thread_num()]++;
    kept++;
    block[0]++;
    free(block);
}

static void by_barriers(void)
{
    int value;

#pragma omp for
    for (int i = 0; i < 100; i++)
        cells[i] = i;
#pragma omp single
    result = cells[9] + cells[90];
    cells[omp_get_thread_num()] = result;
#pragma omp barrier
#pragma omp single
    {
        for (int i = 0; i < 100; i++)
            total += cells[i];
    }
#pragma omp single copyprivate(value)
    value = total;
#pragma omp critical
    got += value;
#pragma omp barrier
#pragma omp single nowait
    got++;
}

static void with_tasks(void)
{
#pragma omp single
    {
        int here = 0;
#pragma omp task shared(here)
        here++;
#pragma omp taskwait
        total += here;
    }
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();

        block_of[me] = calloc(4, sizeof(int));
        if (me)
            await(&first_done);
        own();
        tell(&first_done);
#pragma omp barrier
        by_barriers();
        with_tasks();
#pragma omp single
        for (int i = 0; i < 2; i++)
            block_of[i][0]++;
        free(block_of[me]);
    }
#pragma omp parallel num_threads(1)
    {
        total++;
#pragma omp single
        total++;
    }
    return 0;
}
