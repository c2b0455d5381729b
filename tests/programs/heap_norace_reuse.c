// A block freed by one thread is given to another without any edge the program sees: fresh memory.
// gcc: also
#include "prog.h"
#include <malloc.h>

THREAD(work)
{
    for (int i = 0; i < 10; i++) {
        char *p = malloc(300000);
        p[0] = p[1000] = 1;
        free(p);
    }
    return NULL;
}

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 100000);
    run_two(work, work);
    return 0;
}
