// Sections, copyprivate, doacross, cancel, detached tasks, taskloops with bounds and reductions,
// dependence objects, tasks that are left to the region's end, and tasks of aligned memory.
// stdout: 3 7 63 100 5 4950 4950 8 36 12
// flags: -fopenmp
// flags: -fopenmp -O2
// gcc: also
#include "prog.h"

#include <omp.h>

static int first, second, copied, chain[64], found, done, order, left[9], wide;
static long each[100], sum, reduced;

struct line {
    _Alignas(64) int at[16];
};

static void worksharing(void)
{
    int got = 0;
#pragma omp parallel num_threads(3) firstprivate(got)
    {
#pragma omp sections
        {
#pragma omp section
            first = 1;
#pragma omp section
            second = 2;
        }
        USE(first + second);
#pragma omp single copyprivate(got)
        got = 7;
#pragma omp critical
        copied = got;
#pragma omp for ordered(1) schedule(dynamic)
        for (int i = 1; i < 64; i++) {
#pragma omp ordered depend(sink : i - 1)
            chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
        }
#pragma omp for
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for if (i == 200)
#pragma omp atomic
            found++;
        }
    }
}

static void loops(void)
{
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop num_tasks(8)
        for (int i = 0; i < 100; i++)
            each[i] = i;
        for (int i = 0; i < 100; i++)
            sum += each[i];
#pragma omp taskloop num_tasks(8) reduction(+ : reduced)
        for (int i = 0; i < 100; i++)
            reduced += each[i];
    }
}

static void events(void)
{
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event)
        USE(event);
#pragma omp task
        {
            done = 5;
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        USE(done);
    }
}

static void dependences(void)
{
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        omp_depend_t after;
#pragma omp depobj(after) depend(inout : order)
        for (int i = 0; i < 8; i++) {
#pragma omp task depend(depobj : after)
            order++;
        }
#pragma omp task depend(in : order) depend(mutexinoutset : wide)
        wide = order;
#pragma omp taskwait
#pragma omp depobj(after) destroy
    }
}

static void at_the_end(void)
{
#pragma omp parallel num_threads(4)
    {
        struct line mine = { .at = { omp_get_thread_num() } };
        for (int i = 0; i < 2; i++) {
#pragma omp task firstprivate(mine, i)
            left[2 * mine.at[0] + i] = 2 * mine.at[0] + i + 1;
        }
    }
}

int main(void)
{
    struct line l = { .at = { 12 } };
    int total = 0, copy = 0;

    worksharing();
    loops();
    events();
    dependences();
    at_the_end();
    for (int i = 0; i < 9; i++)
        total += left[i];
#pragma omp parallel num_threads(2)
#pragma omp master
#pragma omp task firstprivate(l) shared(copy)
    copy = l.at[0];
    printf("%d %d %d %d %d %ld %ld %d %d %d\n", first + second, copied, chain[63], found, done, sum,
           reduced, wide, total, copy);
    return 0;
}
