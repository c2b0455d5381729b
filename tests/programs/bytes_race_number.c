// A number is put together from four bytes, one of which another thread writes.
// race: a b
// race: c d
// flags: -O0
// flags: -O1
// flags: -O2
#include "prog.h"

unsigned char in[8], out[8];

__attribute__((noinline)) static unsigned number(const unsigned char *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24; // [a]
}

__attribute__((noinline)) static void put(unsigned char *p, unsigned n)
{
    p[0] = n, p[1] = n >> 8, p[2] = n >> 16, p[3] = n >> 24; // [c]
}

THREAD(reads)
{
    put(out, number(in));
    return NULL;
}

THREAD(writes)
{
    in[2] = 1;          // [b]
    return &in[out[3]]; // [d]
}

int main(void)
{
    run_two(reads, writes);
    return 0;
}
