// A table is published by a release fence and a relaxed store of its address.
// issue: https://github.com/google/sanitizers/issues/1352
// tool: ThreadSanitizer
// there: unusable report; false alarms that nothing connects with the fence; a warning was
//   asked for
// verdict: no race; release fence, relaxed store, relaxed load, acquire fence: C11 7.17.4p2
#include "prog.h"

int *table;

THREAD(builder)
{
    int *fresh = malloc(4 * sizeof(int));

    for (int i = 0; i < 4; i++)
        fresh[i] = i;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&table, fresh, __ATOMIC_RELAXED);
    return NULL;
}

THREAD(user)
{
    int *seen;

    while (!(seen = __atomic_load_n(&table, __ATOMIC_RELAXED)))
        pause_ms(1);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return seen[3] == 3 ? NULL : seen;
}

int main(void)
{
    run_two(builder, user);
    free(table);
    return 0;
}
