// An address range unmapped by one thread and mapped by another: the kernel orders the two.
// gcc: also
#include "prog.h"
#include <sys/mman.h>

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        int *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p[10] = i;
        munmap(p, 8192);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
