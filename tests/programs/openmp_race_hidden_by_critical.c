// The critical blocks happen to order the accesses outside of them.
// predicted: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y, z;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            x = 1; // [a]
#pragma omp critical
            y++;
        } else {
            pause_ms(20);
#pragma omp critical
            z++;
            USE(x); // [b]
        }
    }
    return 0;
}
