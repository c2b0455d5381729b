// Both sides use fences: a release fence before a relaxed store, an acquire fence after a load.
// issue: https://github.com/apache/cassandra-cpp-driver/pull/490
// tool: ThreadSanitizer
// there: false alarm; a decrement with a fence races with the free, so an annotation was added
// verdict: no race; C11 7.17.4p2: fence synchronizes with fence
#include "prog.h"

int references = 2;
int *content;

static int dec_ref(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    int left = __atomic_sub_fetch(&references, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return left;
}

THREAD(owner)
{
    (*content)++;
    if (!dec_ref())
        free(content);
    return NULL;
}

THREAD(other)
{
    while (__atomic_load_n(&references, __ATOMIC_RELAXED) == 2)
        pause_ms(1);
    if (!dec_ref())
        free(content);
    return NULL;
}

int main(void)
{
    content = calloc(1, sizeof(int));
    run_two(owner, other);
    return 0;
}
