// What tasks of a reduction do besides is theirs alone, also while a thread waits for the sum.
// race: a a
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int sum, seen, ready;

int main(void)
{
#pragma omp parallel reduction(task, + : sum) num_threads(2)
    {
#pragma omp task in_reduction(+ : sum)
        {
            __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
            while (__atomic_load_n(&ready, __ATOMIC_RELAXED) < 2) /* each thread has one */
                ;
            sum += 1;
            seen = 1; // [a]
        }
    }
    return sum != 2;
}
