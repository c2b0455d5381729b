// A copy for each thread, which lives on in the next region.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int own;
#pragma omp threadprivate(own)

int main(void)
{
    int bad = 0;
    omp_set_dynamic(0);
    own = 7;
#pragma omp parallel num_threads(4) copyin(own) reduction(+ : bad)
    {
        bad += own != 7;
        own = omp_get_thread_num();
    }
#pragma omp parallel num_threads(4) reduction(+ : bad)
    bad += own != omp_get_thread_num();
    return bad;
}
