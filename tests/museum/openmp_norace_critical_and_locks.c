// A named critical section and an OpenMP lock guard two sums.
// issue: https://github.com/PRUNERS/archer/issues/87
// tool: Archer
// there: false alarm; with clang 6 most reports were in pthread's mutexes of the runtime
// verdict: no race; each sum has its lock
// flags: -fopenmp
#include <omp.h>

int a, b;

int main(void)
{
    omp_lock_t lock;

    omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
    {
#pragma omp critical(first)
        a++;
        omp_set_lock(&lock);
        b++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return a < 1 || a != b;
}
