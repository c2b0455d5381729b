// Who does not execute the single block reads without waiting for it.
// race: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, out[4];

int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp single nowait
        x = 1;                         // [a]
        out[omp_get_thread_num()] = x; // [b]
    }
    return 0;
}
