// Two pipes: who reads from the other one has heard nothing.
// race: a b
#include "prog.h"

int data, left[2], right[2];

THREAD(sender)
{
    data = 1; // [a]
    return (void *)(intptr_t)write(left[1], "x", 1);
}

THREAD(receiver)
{
    char byte;
    if (read(right[0], &byte, 1) == 1)
        data = 2; // [b]
    return NULL;
}

int main(void)
{
    if (pipe(left) || pipe(right) || write(right[1], "y", 1) != 1)
        return 1;
    run_two(sender, receiver);
    return 0;
}
