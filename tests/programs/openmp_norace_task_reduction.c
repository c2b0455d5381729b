// Reductions in which tasks take part, on a region, a loop and sections; in groups and task loops.
// stdout: 24 32 0 4 | 120 15 120 | 3 | 780 122 496
// flags: -fopenmp
// flags: -fopenmp -O0
// gcc: also
#include "prog.h"

#include <omp.h>

static void on_region(void)
{
    long a = 0, b = 0, part[8] = { 0 };
#pragma omp parallel reduction(task, + : a, b) num_threads(4)
    for (int i = 0; i < 4; i++)
#pragma omp task in_reduction(+ : a, b) firstprivate(i)
        a += i, b += 2;
#pragma omp parallel reduction(task, + : part[0 : 8]) num_threads(4)
    for (int i = 0; i < 8; i++)
#pragma omp task in_reduction(+ : part[0 : 8]) firstprivate(i)
        part[i] += i % 2;
    printf("%ld %ld %ld %ld | ", a, b, part[0], part[7]);
}

static void on_loops(void)
{
    long loop = 0, most = 0, plain = 0;
#pragma omp parallel for reduction(task, + : loop) num_threads(4)
    for (int i = 0; i < 16; i++) {
#pragma omp task in_reduction(+ : loop) firstprivate(i)
        loop += i;
    }
#pragma omp parallel num_threads(4)
#pragma omp for reduction(task, max : most) reduction(+ : plain) schedule(dynamic)
    for (int i = 0; i < 16; i++) {
        plain += i;
#pragma omp task in_reduction(max : most) firstprivate(i)
        most = most < i ? i : most;
    }
    printf("%ld %ld %ld | ", loop, most, plain);
}

static void on_sections(void)
{
    long sum = 0;
#pragma omp parallel sections reduction(task, + : sum) num_threads(4)
    {
#pragma omp section
        {
#pragma omp task in_reduction(+ : sum)
            sum += 1;
        }
#pragma omp section
        {
#pragma omp task in_reduction(+ : sum)
            sum += 2;
        }
    }
    printf("%ld | ", sum);
}

static void in_groups(void)
{
    long group = 0, nested = 0, tasks = 0;
#pragma omp taskgroup task_reduction(+ : group)
    for (int i = 0; i < 40; i++)
#pragma omp task in_reduction(+ : group) firstprivate(i)
        group += i;
#pragma omp taskgroup task_reduction(+ : nested)
    {
#pragma omp taskloop in_reduction(+ : nested) grainsize(1)
        for (int i = 0; i < 16; i++)
            nested += i;
#pragma omp task in_reduction(+ : nested)
        {
#pragma omp task in_reduction(+ : nested)
            nested += 1;
            nested += 1;
        }
    }
#pragma omp taskloop reduction(+ : tasks) grainsize(2)
    for (int i = 0; i < 32; i++)
        tasks += i;
    printf("%ld %ld %ld\n", group, nested, tasks);
}

int main(void)
{
    on_region();
    on_loops();
    on_sections();
#pragma omp parallel num_threads(4)
#pragma omp single
    in_groups();
    return 0;
}
