// Different fields of one struct, also of less than a word.
// gcc: also
#include "prog.h"

struct {
    char c;
    short s;
    int i;
} v;

THREAD(first)
{
    v.c = 1;
    v.i = 2;
    return NULL;
}

THREAD(second)
{
    v.s = 3;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return v.c + v.s + v.i - 6;
}
