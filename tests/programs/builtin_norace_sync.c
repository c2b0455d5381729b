// The old __sync builtins: fetch_and_add, compare_and_swap, lock_test_and_set, lock_release.
// gcc: also
#include "prog.h"

int locked, counter, x;

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        while (__sync_lock_test_and_set(&locked, 1))
            sched_yield();
        x++;
        __sync_lock_release(&locked);
        __sync_fetch_and_add(&counter, 1);
        int seen = __sync_fetch_and_or(&counter, 0);
        __sync_val_compare_and_swap(&counter, seen, seen + 1);
        __sync_synchronize();
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 40;
}
