// One thread runs all chunks of a loop, as the others come too late: another run may give two
// chunks to two threads.
// race: a b
// race: c d
// race: e f
// race: g h
// full: no
// flags: -fopenmp
// flags: -fopenmp -O2
// flags: -fopenmp -O0
#include "prog.h"

#include <omp.h>

int cells[200], index_of[200], x, y, last, sum, done;

static __attribute__((noinline)) void step(int i)
{
    cells[i + 1] = cells[i] + 1; // [a, b]
}

/* Behind an index, and in a function. */
static void neighbours(void)
{
#pragma omp for schedule(dynamic, 8) nowait
    for (int i = 0; i < 100; i++)
        step(i);
}

static __attribute__((noinline)) void set(int to)
{
    x = to; // [d]
}

/* Only two iterations of all. */
static void by_index(void)
{
#pragma omp for schedule(dynamic, 1) nowait
    for (int i = 0; i < 40; i++) {
        if (index_of[i] == 3)
            x = 1; // [c]
        if (index_of[i] == 30)
            set(2);
    }
}

/* A lock in one of them. */
static void half_locked(void)
{
#pragma omp for schedule(guided, 4) nowait
    for (int i = 0; i < 40; i++) {
        if (i == 2)
#pragma omp critical
            y = 1; // [e]
        if (i == 36)
            y = 2; // [f]
    }
}

/* Beside a sum that is each thread's own. */
static void beside_reduction(void)
{
#pragma omp for schedule(dynamic, 4) reduction(+ : sum) nowait
    for (int i = 0; i < 40; i++) {
        sum += index_of[i];
        last = i; // [g, h]
    }
}

int main(void)
{
    for (int i = 0; i < 200; i++)
        index_of[i] = i;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num())
            await(&done);
        neighbours();
        by_index();
        half_locked();
        beside_reduction();
        tell(&done);
    }
    return 0;
}
