// What orders tasks of one thread: if(0), final, dependences, locks, groups, a later barrier.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int a, b, c, d, e, f, g, done;
omp_lock_t lock;

static void undeferred(void)
{
    for (int i = 0; i < 5; i++) {
#pragma omp task if (0)
        a++;
        a++;
#pragma omp task final(1)
        {
#pragma omp task
            b++;
            b++;
        }
#pragma omp taskwait
        b++;
    }
}

static void exclusive(void)
{
    for (int i = 0; i < 5; i++) {
#pragma omp task depend(mutexinoutset : c)
        c++;
#pragma omp task
        {
#pragma omp critical
            d++;
            omp_set_lock(&lock);
            e++;
            omp_unset_lock(&lock);
        }
    }
#pragma omp task depend(in : c)
    USE(c);
#pragma omp task depend(in : c)
    USE(c);
#pragma omp task depend(out : c)
    c++;
}

static void groups(void)
{
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp task
            f++;
        }
    }
    f++;
#pragma omp task
    g++;
#pragma omp taskyield
}

int main(void)
{
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num()) {
            await(&done);
        } else {
            undeferred();
            exclusive();
            groups();
#pragma omp task
            tell(&done);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1)
            a += b + c++ + d++ + e++ + f + g++;
    }
    USE(a + c + d + e + g);
    return 0;
}
