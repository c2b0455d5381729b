// critical, a lock, a nested lock, a tested one; atomics.
// stdout: 5 200
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y;
omp_lock_t lock;
omp_nest_lock_t nest;

static void count(void)
{
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    y++;
    omp_unset_nest_lock(&nest);
    y++;
    omp_unset_nest_lock(&nest);
}

int main(void)
{
    int n = 0, z = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
    {
        for (int i = 0; i < 25; i++) {
#pragma omp critical
            x++;
            omp_set_lock(&lock);
            z++;
            omp_unset_lock(&lock);
            count();
#pragma omp atomic
            n++;
            if (omp_test_lock(&lock)) {
                z++;
                omp_unset_lock(&lock);
            }
        }
    }
    printf("%d %d\n", (x == 100) + (n == 100) + (z >= 100) + (z <= 200) + 1, y);
    return 0;
}
