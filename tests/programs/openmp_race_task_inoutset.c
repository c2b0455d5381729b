// Tasks of one inoutset are not ordered among each other.
// race: a b
// flags: -fopenmp
#include "prog.h"

#include <omp.h>

int set, x, y, done;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num()) {
            await(&done);
        } else {
#pragma omp task depend(inoutset : set)
            x = 1; // [a]
#pragma omp task depend(inoutset : set)
            x = 2; // [b]
#pragma omp task depend(in : set)
            y = x;
#pragma omp taskwait
            tell(&done);
        }
    }
    USE(y);
    return 0;
}
