// Two readers by their own word; one of them writes.
// race: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y, one, two;

int main(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task depend(in : x)
        {
            tell(&one);
            await(&two);
            y = 1; // [a]
        }
#pragma omp task depend(in : x)
        {
            tell(&two);
            await(&one);
            y = 2; // [b]
        }
        await(&one);
        await(&two);
    }
    return 0;
}
