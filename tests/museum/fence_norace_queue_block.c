// A consumer claims a slot by a relaxed update, then passes an acquire fence and reads the slot.
// issue: https://github.com/cameron314/concurrentqueue/issues/62
// tool: ThreadSanitizer
// there: false alarm; dequeue reads what enqueue wrote, the maintainer: lock-free code is not
//   fully understood
// verdict: no race; the slot is published by a release update whose value the claim has seen
#include "prog.h"

int slots[8];
unsigned tail, head;

THREAD(producer)
{
    for (int i = 0; i < 4; i++) {
        slots[i] = i + 1;
        __atomic_fetch_add(&tail, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

THREAD(consumer)
{
    for (int got = 0; got < 4;) {
        if (__atomic_load_n(&tail, __ATOMIC_RELAXED) == __atomic_load_n(&head, __ATOMIC_RELAXED)) {
            pause_ms(1);
            continue;
        }
        unsigned at = __atomic_fetch_add(&head, 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (slots[at] != ++got)
            abort();
    }
    return NULL;
}

int main(void)
{
    run_two(producer, consumer);
    return 0;
}
