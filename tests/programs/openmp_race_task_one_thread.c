// One thread runs all tasks, one after the other: another run may give them to two.
// race: a b
// race: c d
// race: e f
// race: g h
// never: a c
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y, z, u, all[64], done;

static void two_tasks(void)
{
#pragma omp task
    x = 1; // [a]
#pragma omp task
    x = 2; // [b]
#pragma omp taskwait
}

/* A task and who made it. */
static void child(void)
{
#pragma omp task
    y = 1; // [c]
    y = 2; // [d]
#pragma omp taskwait
    x = 3;
}

/* taskwait is for children only. */
static void grandchild(void)
{
#pragma omp task
    {
#pragma omp task
        z = 1; // [e]
    }
#pragma omp taskwait
    z = 2; // [f]
}

/* The first and the last of many. */
static void far(void)
{
    for (int i = 0; i < 40; i++)
#pragma omp task firstprivate(i)
    {
        all[i] = i;
        if (i == 0)
            u = 1; // [g]
        if (i == 39)
            u = 2; // [h]
    }
#pragma omp taskwait
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num()) {
            await(&done);
        } else {
            two_tasks();
            child();
            grandchild();
            far();
            tell(&done);
        }
    }
    return 0;
}
