// A program that brings its own allocator: the program's definition wins.
// tsan: crashes
#include "prog.h"

static _Alignas(16) char heap[1 << 20];
static size_t used;
int calls;

void *malloc(size_t size)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    return heap + __atomic_fetch_add(&used, (size + 15) & ~15ul, __ATOMIC_RELAXED);
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t n, size_t size)
{
    return malloc(n * size);
}

void *realloc(void *p, size_t size)
{
    void *q = malloc(size);
    return p ? memcpy(q, p, size) : q;
}

THREAD(work)
{
    int *volatile p = malloc(100);
    p[0] = 1;
    free(p);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return calls < 2;
}
