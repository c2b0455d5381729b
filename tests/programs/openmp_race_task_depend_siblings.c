// Dependences order children of the same task only.
// race: a b
// race: c d
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y, z, done;

static void twice(void)
{
#pragma omp task depend(inout : x)
    {
#pragma omp task depend(inout : x)
        x++; // [a]
    }
#pragma omp task depend(inout : x)
    {
#pragma omp task depend(inout : x)
        x++; // [b]
    }
#pragma omp taskwait
}

/* Readers do not wait for each other. */
static void readers(void)
{
#pragma omp task depend(in : y)
    z = 1; // [c]
#pragma omp task depend(in : y)
    z = 2; // [d]
#pragma omp taskwait
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num()) {
            await(&done);
        } else {
            twice();
            readers();
            tell(&done);
        }
    }
    return 0;
}
