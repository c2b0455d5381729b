// A lock of an untraced library is used as a gate: one thread closes it, another opens it.
// issue: https://github.com/mydumper/mydumper/pull/2339
// tool: ThreadSanitizer
// there: unusable report; accesses under GMutex are reported as races, and misuse is not
// verdict: no race; this library's unlock may be any thread's; it releases what the waiter
//   acquires
// library: library_futex_mutex.c untraced
#include "prog.h"
#include "library_futex_mutex.h"

struct lock gate;
int data;

THREAD(waits)
{
    lib_lock(&gate);
    data++;
    lib_unlock(&gate);
    return NULL;
}

THREAD(opens)
{
    data = 1;
    lib_unlock(&gate);
    return NULL;
}

int main(void)
{
    lib_lock(&gate);
    run_two(waits, opens);
    return data - 2;
}
