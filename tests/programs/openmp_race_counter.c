// Every thread counts, without a lock; the read behind the region is ordered.
// race: a a
// never: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int count;

int main(void)
{
#pragma omp parallel num_threads(4)
    count++;    // [a]
    USE(count); // [b]
    return 0;
}
