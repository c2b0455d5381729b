// Terabytes of address space, as databases reserve it: only what is touched may cost time.
// gcc: also
// tsan: fails to map
#include "prog.h"
#include <sys/mman.h>

enum { MAPS = 40 };
static const size_t tebibyte = (size_t)1 << 40;
long x;

THREAD(work)
{
    for (int i = 0; i < MAPS; i++) {
        long *p = mmap(NULL, tebibyte, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            break; // a system with limits
        p[1] = i;
        __atomic_fetch_add(&x, p[1] - i, __ATOMIC_RELAXED);
        munmap(p, tebibyte);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x != 0;
}
