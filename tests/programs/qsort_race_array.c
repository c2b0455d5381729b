// qsort moves elements inside libc; the comparison is ours.
// race: a b|c
// may: a|c b|c
#include "prog.h"

int data[16] = { 5, 3, 9, 1, 7, 2, 8, 4, 6, 0 };

static int compare(const void *p, const void *q)
{
    return *(const int *)p - *(const int *)q; // [c]
}

THREAD(first)
{
    data[3] = 100; // [a]
    return NULL;
}

THREAD(second)
{
    qsort(data, 16, sizeof(int), compare); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
