/* Memory that no other thread can reach, though it is no local of the function that uses it. */
#include <stdlib.h>
extern void sink(void *p);
extern int choose(void);
extern int (*table[])(volatile int *p);

/* All calls give memory of their callers' own. */
static __attribute__((noinline)) int own_parameter(volatile int *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] += i;
    return n > 3 ? own_parameter(p, n / 2) + 1 : p[0];
}

/* Some call gives memory that somebody else may know. */
static __attribute__((noinline)) int shared_parameter(volatile int *p)
{
    return *p;
}

/* Its address is taken. */
static __attribute__((noinline)) int known_elsewhere(volatile int *p)
{
    return *p;
}
int (*table[])(volatile int *p) = { known_elsewhere };

int locals(int n)
{
    volatile int a[8] = { 1 }, b[8] = { 2 };
    volatile int *p = choose() ? a : b; /* a choice between own ones */
    for (int i = 0; i < (n & 7); i++)
        *p++ = i;
    return own_parameter(a, 8) + shared_parameter(b) + known_elsewhere(a);
}

int heap(int n)
{
    volatile int *block = malloc(sizeof(int) * 64);
    if (!block)
        return 0;
    block[n & 63] = n;
    int result = own_parameter(block, 64);
    free((void *)block);
    return result;
}

int published(int n)
{
    volatile int *block = malloc(sizeof(int) * 64);
    if (!block)
        return 0;
    block[n & 63] = n;
    sink((void *)block);
    return shared_parameter(block);
}

int returned(volatile int **out)
{
    volatile int *block = malloc(sizeof(int));
    if (block)
        *block = 1;
    *out = block;
    return 0;
}

int mixed(volatile int *theirs)
{
    volatile int mine = 1;
    volatile int *p = choose() ? &mine : theirs;
    return *p;
}
