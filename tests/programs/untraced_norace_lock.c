// A lock inside an untraced library protects a counter.
// library: untraced_hidden.c untraced
// options: --engine rdit
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_lock *lock;
static int x;

THREAD(work)
{
    for (int i = 0; i < 3; i++) {
        hidden_take(lock);
        x++;
        hidden_drop(lock);
    }
    return NULL;
}

int main(void)
{
    lock = hidden_lock_new();
    run_two(work, work);
    return x - 6;
}
