// A vector grows by mremap, as a rule to the address where the stack of an ended thread was.
// issue: https://github.com/ad-freiburg/qlever/issues/2865
// tool: ThreadSanitizer
// there: false alarm; a write to the vector races with an ended thread's local variable
// verdict: no race; the stack was unmapped: the vector's memory is other memory at its address
#include "prog.h"
#include <sys/mman.h>

enum { SIZE = 1 << 18 };
char *stack;
int unmapped;

THREAD(worker)
{
    volatile int local = 1;

    USE(local);
    return NULL;
}

THREAD(reaper)
{
    pthread_attr_t attr;
    pthread_t t;

    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, SIZE);
    if (pthread_create(&t, &attr, worker, NULL))
        abort();
    pthread_join(t, NULL);
    munmap(stack, SIZE);
    tell(&unmapped);
    return NULL;
}

THREAD(writer)
{
    char *walls = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int *vector = (int *)(walls + 4096); // cannot grow where it is

    mprotect(vector, 4096, PROT_READ | PROT_WRITE);
    await(&unmapped);
    vector = mremap(vector, 4096, SIZE, MREMAP_MAYMOVE);
    for (int i = 0; i < SIZE / 4; i += 64)
        vector[i] = i;
    munmap(vector, SIZE);
    return NULL;
}

int main(void)
{
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run_two(reaper, writer);
    return 0;
}
