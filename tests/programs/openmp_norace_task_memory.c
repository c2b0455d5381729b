// The library gives the memory of finished tasks to new ones, of other threads.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int a[64];

int main(void)
{
#pragma omp parallel num_threads(4)
    {
        for (int round = 0; round < 30; round++) {
            for (int i = 0; i < 16; i++) {
                int to = omp_get_thread_num() * 16 + i;
#pragma omp task firstprivate(to, round)
                a[to] = round;
            }
#pragma omp taskwait
        }
    }
    return 0;
}
