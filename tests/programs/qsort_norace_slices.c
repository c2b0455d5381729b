// Two threads sort two halves.
// gcc: also
#include "prog.h"

int data[16] = { 5, 3, 9, 1, 7, 2, 8, 4, 6, 0, 11, 10, 15, 13, 14, 12 };

static int compare(const void *p, const void *q)
{
    return *(const int *)p - *(const int *)q;
}

THREAD(sort)
{
    qsort(data + (intptr_t)arg, 8, sizeof(int), compare);
    return NULL;
}

int main(void)
{
    pthread_t a = start(sort, (void *)0), b = start(sort, (void *)8);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return data[0] != 1 || data[15] != 15;
}
