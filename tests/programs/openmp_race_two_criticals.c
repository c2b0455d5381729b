// Two critical blocks of different names.
// race: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp critical(one)
            x++; // [a]
        } else {
#pragma omp critical(two)
            x++; // [b]
        }
    }
    return 0;
}
