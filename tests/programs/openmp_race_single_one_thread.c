// The thread that comes first runs what `single` encloses. Here it is the one that has done the
// work, so that it is in its order; another run lets another thread come first.
// race: a b
// race: c d
// full: no
// flags: -fopenmp
// flags: -fopenmp -O2
// flags: -fopenmp -O0
#include "prog.h"

#include <omp.h>

int cells[100], result, x, done;

static __attribute__((noinline)) void fill(int i)
{
    cells[i] = i; // [a]
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for nowait
        for (int i = 0; i < 100; i++)
            fill(i);
        if (omp_get_thread_num())
            await(&done);
        else
            x = 1; // [c]
#pragma omp single
        {
            result = cells[9]; // [b]
            x = 2;             // [d]
            tell(&done);
        }
    }
    return 0;
}
