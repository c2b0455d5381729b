// mremap moves pages; the old range becomes somebody else's.
#include "prog.h"
#include <sys/mman.h>

enum { PAGE = 4096 };

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        int *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p[0] = i;
        p = mremap(p, PAGE, 16 * PAGE, MREMAP_MAYMOVE);
        p[5000] = p[0];
        munmap(p, 16 * PAGE);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
