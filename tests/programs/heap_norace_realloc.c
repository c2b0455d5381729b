// realloc moves a block: the new one is new memory, the old one may be anybody's.
// gcc: also
#include "prog.h"

THREAD(work)
{
    int *p = malloc(16);
    for (int n = 4; n < 4000; n += 100) {
        p = realloc(p, n * sizeof(int));
        p[n - 1] = p[0] = n;
    }
    free(p);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
