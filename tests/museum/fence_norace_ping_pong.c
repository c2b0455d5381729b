// Two threads change a counter in turn; an acquire fence follows the relaxed load that waits.
// issue: https://github.com/llvm/llvm-project/issues/52942
// tool: ThreadSanitizer
// there: false alarm; a race of the two threads on the counter
// verdict: no race; each turn ends with a release store, which the other's fence acquires
#include "prog.h"

int counter, turn;

static void *take_turns(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < 5; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != me)
            pause_ms(1);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        counter++;
        __atomic_store_n(&turn, !me, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    int ids[] = { 0, 1 };
    pthread_t a = start(take_turns, &ids[0]), b = start(take_turns, &ids[1]);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return counter - 10;
}
