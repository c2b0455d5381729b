// A reference count by atomic built-ins guards a block of memory.
// issue: https://github.com/pmem/pmdk/pull/3821
// tool: Helgrind
// there: false alarm; who counts to zero frees: a race with what the other owner wrote
// verdict: no race; both decrements are acquire and release, the free is after both
#include "prog.h"

struct block {
    int count, bytes[2];
};

static void *use(void *arg)
{
    struct block *block = arg;

    block->bytes[0] += __atomic_load_n(&block->count, __ATOMIC_RELAXED) < 0;
    return NULL;
}

static void *owner(void *arg)
{
    struct block *block = arg;

    USE(block->bytes[1]);
    if (__atomic_sub_fetch(&block->count, 1, __ATOMIC_ACQ_REL) == 0)
        free(block);
    return NULL;
}

int main(void)
{
    struct block *block = calloc(1, sizeof(*block));

    block->count = 2;
    pthread_join(start(use, block), NULL);
    pthread_t a = start(owner, block), b = start(owner, block);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
