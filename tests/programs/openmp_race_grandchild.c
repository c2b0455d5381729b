// taskwait does not wait for tasks of tasks.
// race: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, started;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task if (0)
        {
#pragma omp task
            {
                tell(&started);
                x = 1; // [a]
            }
        }
        await(&started);
#pragma omp taskwait
        USE(x); // [b]
    }
    return 0;
}
