// 2,000 short threads, one after the other and in pairs; stacks and numbers are reused.
// gcc: also
#include "prog.h"

int x;

THREAD(child)
{
    volatile int local = 1;
    USE(local);
    return NULL;
}

THREAD(counts)
{
    x++;
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 660; i++) {
        run_two(child, child);
        pthread_join(start(counts, NULL), NULL);
    }
    return x != 660;
}
