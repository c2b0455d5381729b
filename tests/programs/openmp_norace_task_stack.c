// Tasks that one thread runs have the same stack, below those that they interrupt.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int out[128], done;

static __attribute__((noinline)) void add(int *a, int n)
{
    for (int i = 0; i < n; i++)
        a[i] += i;
}

static __attribute__((noinline)) int deep(int n)
{
    int a[64] = { 0 };

    add(a, 64);
    return n ? deep(n - 1) + a[3] : a[5];
}

static __attribute__((noinline)) int tree(int n)
{
    int left = 0, right = 0;

    if (n < 2)
        return deep(n);
#pragma omp task shared(left)
    left = tree(n - 1);
#pragma omp task shared(right)
    right = tree(n - 2);
    USE(deep(n % 3));
#pragma omp taskwait
    return left + right;
}

static void tasks(void)
{
    int step = 3;

    for (int i = 0; i < 40; i++) {
#pragma omp task firstprivate(i, step)
        {
            int b[32] = { 0 };

            add(b, 32);
            add(&step, 1);
            out[i] = deep(i % 7) + b[2] + step;
        }
        if (i % 3 == 0) {
            int q = deep(5);
#pragma omp taskyield
            add(&q, 1);
        }
    }
#pragma omp taskwait
    USE(deep(12));
}

static void loops(void)
{
    int f = 3;

#pragma omp taskloop firstprivate(f) num_tasks(50)
    for (int i = 0; i < 100; i++) {
        add(&f, 1);
        out[i] = f;
    }
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num()) {
            await(&done);
        } else {
            tasks();
            loops();
            out[0] = tree(6);
            tell(&done);
        }
#pragma omp barrier
#pragma omp single
        {
            tasks();
            loops();
            out[0] = tree(7);
        }
    }
    return 0;
}
