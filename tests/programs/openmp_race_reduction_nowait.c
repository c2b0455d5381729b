// The sum is read by a thread that did not wait for the others' parts.
// race: a|b c
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int sum, out[2];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for nowait reduction(+ : sum) // [a]
        for (int i = 0; i < 100; i++)
            sum += i;                    // [b]
        out[omp_get_thread_num()] = sum; // [c]
    }
    return 0;
}
