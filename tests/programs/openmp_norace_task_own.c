// What belongs to a thread is no race between two tasks that it runs one after the other.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int mine;
#pragma omp threadprivate(mine)
static __thread int kept[4];
int per_thread[4], sum, out;

static __attribute__((noinline)) void count(int i)
{
    kept[i % 4]++;
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        mine = 1;
        kept[0] = 1;
#pragma omp single
        for (int i = 0; i < 30; i++) {
#pragma omp task
            {
                mine += i;
                mine++;
            }
#pragma omp task
            per_thread[omp_get_thread_num()]++;
#pragma omp task
            {
#pragma omp task
                count(i);
#pragma omp taskwait
                count(i + 1);
            }
        }
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 30; i++)
#pragma omp task in_reduction(+ : sum)
            sum += i;
        per_thread[omp_get_thread_num()] += mine + kept[0];
    }
    out = per_thread[0] + per_thread[1] + sum;
    return 0;
}
