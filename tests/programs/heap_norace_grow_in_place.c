// A block grows into memory that another thread gave back; one line fills both parts of it.
// gcc: also
#include "prog.h"

enum { SOME = 2000 }; // too big for malloc's caches: freed neighbours become one
char *low, *high, *end;
int freed;

__attribute__((noinline)) static void fill(char *p, int from, int to)
{
    for (int i = from; i < to; i += 8)
        *(volatile long *)(p + i) = i;
}

THREAD(giver)
{
    memset(high, 1, SOME);
    free(high);
    tell(&freed);
    return NULL;
}

THREAD(taker)
{
    await(&freed);
    fill(low, 0, SOME);
    low = realloc(low, 2 * SOME);
    fill(low, SOME, 2 * SOME);
    return NULL;
}

int main(void)
{
    low = malloc(SOME + 8);
    high = malloc(SOME);
    end = malloc(SOME);
    run_two(giver, taker);
    free(low);
    free(end);
    return 0;
}
