// A master block has no barrier.
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
#pragma omp master
        x = 1;                         // [a]
        out[omp_get_thread_num()] = x; // [b]
    }
    return 0;
}
