// The parts of a taskloop are tasks, and nogroup waits for none of them.
// race: a a
// race: b c
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int sum, part[64], last, done;

static __attribute__((noinline)) void put(int i)
{
    sum = i; // [a]
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num()) {
            await(&done);
        } else {
#pragma omp taskloop num_tasks(8)
            for (int i = 0; i < 64; i++)
                put(i);
#pragma omp taskloop nogroup num_tasks(8)
            for (int i = 0; i < 64; i++)
                part[i] = i; // [b]
            last = part[63]; // [c]
#pragma omp taskwait
            last += part[63];
            tell(&done);
        }
    }
    return 0;
}
