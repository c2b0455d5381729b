// The parent reads while another thread runs the task; only afterwards it waits.
// race: a b
// never: a c
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
#pragma omp task
        {
            tell(&started);
            x = 1; // [a]
        }
        await(&started);
        USE(x); // [b]
#pragma omp taskwait
        USE(x); // [c]
    }
    return 0;
}
