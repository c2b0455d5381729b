// The reader finds the block after a few sleeps, with no synchronisation since it was made.
// race: a d
// race: b c
// gcc: also
// tsan: differs
#include "prog.h"

int *box;

THREAD(maker)
{
    pause_ms(5);
    int *p = malloc(40);
    __asm__ volatile("" : "+r"(p));
    p[2] = 1; // [a]
    box = p;  // [b]
    return NULL;
}

THREAD(reader)
{
    int *p;
    while (!(p = *(int *volatile *)&box)) // [c]
        pause_ms(10);
    USE(p[2]); // [d]
    return NULL;
}

int main(void)
{
    run_two(maker, reader);
    free(box);
    return 0;
}
