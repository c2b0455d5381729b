// A flush on one side orders nothing.
// race: a b
// flags: -fopenmp
#include "prog.h"

#include <omp.h>

int x, y;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            x = 10; // [a]
#pragma omp flush
#pragma omp atomic write
            y = 1;
        } else {
            int seen = 0;

            while (!seen) {
#pragma omp atomic read
                seen = y;
            }
            x++; // [b]
        }
    }
    return 0;
}
