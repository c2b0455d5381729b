// What belongs to a thread is no race between two chunks that it runs one after the other; nor is
// what orders them.
// flags: -fopenmp
// flags: -fopenmp -O2
// flags: -fopenmp -O0
#include "prog.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { N = 200 };
int mine;
#pragma omp threadprivate(mine)
static __thread int kept[4];
static int *thread_block[8];
int first, second, best, best_own[8], sum, ordered_sum, locked, per_thread[8], out[N], hits[8];
struct work {
    int *block;
};

static __attribute__((noinline)) int *scratch(void)
{
    return thread_block[omp_get_thread_num()];
}

static __attribute__((noinline)) void use(struct work *w, int i)
{
    w->block[i % 4] = i;
}

static __attribute__((noinline)) void fill(int *a, int i)
{
    for (int k = 0; k < 4; k++)
        a[k] = i + k;
}

static __attribute__((noinline)) void count(int i)
{
    kept[i % 4]++;
    scratch()[1] = i;
}

/* Memory of the thread's: by a pointer, a structure, its number, a variable that is kept. */
static void own_memory(void)
{
    int me = omp_get_thread_num(), *block = thread_block[me], *later = NULL;
    struct work work = { .block = block };
    int array[4] = { 0 };

#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        block[i % 4] = i;
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        use(&work, i);
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        per_thread[me] += i;
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        if (me == 0)
            hits[0]++;
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++) {
        if (!later)
            later = scratch() + 12;
        *later = i;
    }
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < N; i++)
        fill(array, i);
    USE(array[1]);
    free(malloc(8));
}

/* Found by the thread's number in the loop, or in what it calls; thread-local. */
static void own_by_number(void)
{
#pragma omp for schedule(dynamic, 3) nowait
    for (int i = 0; i < N; i++)
        per_thread[omp_get_thread_num()]++;
#pragma omp for schedule(dynamic, 3) nowait
    for (int i = 0; i < N; i++)
        count(i);
#pragma omp for schedule(dynamic, 3) nowait
    for (int i = 0; i < N; i++)
        mine += i;
}

/* Of the chunk: what is declared in it, allocated by it. */
static void own_of_chunk(void)
{
#pragma omp for schedule(dynamic, 1) nowait
    for (int i = 0; i < N; i++) {
        int here[4], *there = malloc(4 * sizeof(int));
        fill(here, i);
        fill(there, i);
        out[i] = here[i % 4] + there[0];
        free(there);
    }
}

/* Reductions, also by a condition. */
static void reductions(void)
{
#pragma omp for schedule(dynamic, 2) reduction(+ : sum) reduction(max : best) nowait
    for (int i = 0; i < N; i++) {
        sum += i;
        if (i > best)
            best = i;
    }
#pragma omp for schedule(guided) reduction(max : best_own)
    for (int i = 0; i < N; i++)
        if (best_own[i % 8] < i)
            best_own[i % 8] = i;
}

static void in_order(void)
{
#pragma omp for schedule(dynamic, 1) ordered
    for (int i = 0; i < N; i++)
#pragma omp ordered
        ordered_sum += i;
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < N; i++)
#pragma omp critical
        locked += i;
#pragma omp single
    locked++;
}

static void keeps(void)
{
    int *cache = NULL;

#pragma omp parallel for schedule(dynamic, 2) num_threads(2) firstprivate(cache)
    for (int i = 0; i < N; i++) {
        if (!cache)
            cache = scratch() + 8;
        cache[0] = i;
    }
}

int main(void)
{
    int given = 1, *of_first = malloc(4 * sizeof(int)), scale = 3;

    for (int i = 0; i < 8; i++)
        thread_block[i] = calloc(16, sizeof(int));
#pragma omp parallel num_threads(2) firstprivate(scale)
    {
        mine = 1;
        kept[0] = 1;
        if (omp_get_thread_num())
            await(&first);
        own_memory(); /* libomp lets a thread be seven loops ahead */
        tell(&first);
#pragma omp barrier
        if (omp_get_thread_num())
            await(&second);
        own_by_number();
        own_of_chunk();
        tell(&second);
#pragma omp barrier
        reductions();
        in_order();
    }
#pragma omp parallel for schedule(dynamic, 4) num_threads(2) firstprivate(given) lastprivate(scale)
    for (int i = 0; i < N; i++) {
        scale = i + given;
        out[i] = scale;
    }
    of_first[0] = scale;
    keeps();
#pragma omp parallel for schedule(dynamic, 4) num_threads(1)
    for (int i = 0; i < N; i++)
        of_first[1] = i;
    free(of_first);
    for (int i = 0; i < 8; i++)
        free(thread_block[i]);
    return 0;
}
