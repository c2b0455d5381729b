// Unaligned values side by side, in the same words but in different bytes.
// flags: -O0
// flags: -O2
#include "prog.h"

struct __attribute__((packed)) record {
    char head;
    int value;
    long next;
    short tail;
} r;

THREAD(first)
{
    r.value = 1;
    r.tail = 2;
    return NULL;
}

THREAD(second)
{
    r.head = 3;
    r.next = 4;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return r.head + r.value + (int)r.next + r.tail - 10;
}
