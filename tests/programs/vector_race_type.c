// A store of a 16-byte vector against a load of one element.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

typedef int four __attribute__((vector_size(16)));
union {
    four v;
    int element[4];
} u;

THREAD(first)
{
    u.v = (four){ 1, 2, 3, 4 }; // [a]
    return NULL;
}

THREAD(second)
{
    USE(u.element[3]); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
