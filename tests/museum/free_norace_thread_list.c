// Blocks are freed by another thread: it pushes them to the owner's list, which the owner empties.
// issue: https://github.com/microsoft/mimalloc/issues/130
// tool: ThreadSanitizer
// there: false alarm; many, in an allocator with lists that threads share by atomics
// verdict: no race; pushing releases the block, taking the whole list acquires it
#include "prog.h"

struct block {
    struct block *next;
    int used;
} blocks[4], *thread_free;
int pushed;

THREAD(frees)
{
    for (int i = 0; i < 4; i++) {
        blocks[i].used = 0;
        struct block *head = __atomic_load_n(&thread_free, __ATOMIC_RELAXED);
        do
            blocks[i].next = head;
        while (!__atomic_compare_exchange_n(&thread_free, &head, &blocks[i], 1, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED));
        __atomic_fetch_add(&pushed, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

THREAD(owner)
{
    for (int got = 0; got < 4; pause_ms(1)) {
        struct block *list = __atomic_exchange_n(&thread_free, NULL, __ATOMIC_ACQUIRE);
        for (; list; list = list->next, got++)
            list->used = 1;
    }
    return NULL;
}

int main(void)
{
    run_two(frees, owner);
    return 0;
}
