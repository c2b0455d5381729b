// An untraced library calls back under a lock of its own making.
// library: untraced_hidden.c untraced
// options: --engine rdit
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_lock *lock;
static int x;

static void increment(void *p)
{
    ++*(int *)p;
}

THREAD(work)
{
    hidden_locked(lock, increment, &x);
    return NULL;
}

int main(void)
{
    lock = hidden_lock_new();
    run_two(work, work);
    return x - 2;
}
