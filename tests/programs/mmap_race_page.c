// Mapped memory is memory.
// race: a b
#include "prog.h"
#include <sys/mman.h>

int *page;

THREAD(first)
{
    page[10] = 1; // [a]
    return NULL;
}

THREAD(second)
{
    page[10] = 2; // [b]
    return NULL;
}

int main(void)
{
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run_two(first, second);
    munmap(page, 4096);
    return 0;
}
