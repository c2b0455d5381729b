// Parallel regions of different sizes, between which the runtime's workers sleep.
// issue: https://github.com/PRUNERS/archer/issues/28
// tool: Archer
// there: false alarm; inside of libomp (__kmp_resume_template, copy_icvs), unless suppressed
// verdict: no race; a region's begin and end order what it does with the code around it
// flags: -fopenmp
#include <omp.h>

int numbers[8];

int main(void)
{
    for (int threads = 4; threads > 0; threads /= 2) {
        omp_set_num_threads(threads);
#pragma omp parallel for
        for (int i = 0; i < 8; i++)
            numbers[i] += i;
    }
    return numbers[7] - 21;
}
