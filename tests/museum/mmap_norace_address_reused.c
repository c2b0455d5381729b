// A thread unmaps shared memory; another maps other memory, which gets the same address.
// issue: https://github.com/sysrepo/sysrepo/issues/2595
// tool: ThreadSanitizer
// there: false alarm; writing into shared memory races with a mapping that was there before
// verdict: no race; the second mapping is other memory, though its address is the same
#include "prog.h"
#include <sys/mman.h>

void *place;
int unmapped;

THREAD(first)
{
    int *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    data[0] = 1;
    place = data;
    munmap(data, 4096);
    __atomic_store_n(&unmapped, 1, __ATOMIC_RELAXED);
    return NULL;
}

static uintptr_t hint; // handed over by the join alone

THREAD(second)
{
    int *data = mmap((void *)hint, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    data[0] = 2;
    munmap(data, 4096);
    return NULL;
}

THREAD(third)
{
    await(&unmapped);
    int *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    data[0] = 3; // at the address of the first, as a rule
    munmap(data, 4096);
    return NULL;
}

int main(void)
{
    run_two(first, third);
    hint = (uintptr_t)place;
    pthread_join(start(second, NULL), NULL);
    return 0;
}
