// 32 and 64-byte vectors: larger than any single access of the machine.
// race: a b
// race: c d
// tsan: misses
#include "prog.h"

typedef long four __attribute__((vector_size(32)));
typedef long eight __attribute__((vector_size(64)));
four v;
eight w;

THREAD(first)
{
    v = (four){ 1, 2, 3, 4 }; // [a]
    w += 1;                   // [c]
    return NULL;
}

THREAD(second)
{
    ((long *)&v)[3] = 5;  // [b]
    ((char *)&w)[63] = 1; // [d]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
