// Only one of the two takes the lock.
// race: a b
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x;
omp_lock_t lock;

int main(void)
{
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&lock);
            x++; // [a]
            omp_unset_lock(&lock);
        } else {
            x++; // [b]
        }
    }
    omp_destroy_lock(&lock);
    return 0;
}
