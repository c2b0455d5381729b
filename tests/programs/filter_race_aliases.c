// Addresses a power of two apart, in turn: whatever table remembers accesses, they share a slot.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

enum { STEP = 1 << 18 };
char memory[8 * STEP];

THREAD(first)
{
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 8; i++)
            memory[i * STEP] = 1; // [a]
    return NULL;
}

THREAD(second)
{
    memory[5 * STEP] = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
