// An unaligned int that straddles two words; the other thread writes its last byte.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

struct __attribute__((packed)) record {
    char pad[6];
    int value;
} r;

THREAD(first)
{
    r.value = 0x01020304; // [a]
    return NULL;
}

THREAD(second)
{
    ((char *)&r)[9] = 7; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
