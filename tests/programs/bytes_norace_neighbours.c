// Bytes beside each other that belong to different threads, as members and as elements.
// norace:
// flags: -O1
// flags: -O2
#include "prog.h"

struct {
    char a, b, c, d;
} members;
char bytes[8];
volatile int more;

THREAD(even)
{
    members.a = 1;
    members.c = 2;
    bytes[0] = bytes[1] = 1;
    bytes[2] = 3;
    if (more)
        bytes[3] = 4;
    return NULL;
}

THREAD(odd)
{
    members.b = members.d = 1;
    bytes[4] = 1, bytes[5] = 2, bytes[6] = 3;
    bytes[3] = 1;
    return &bytes[bytes[7]];
}

int main(void)
{
    run_two(even, odd);
    return 0;
}
