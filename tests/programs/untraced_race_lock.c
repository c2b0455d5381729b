// Two locks inside an untraced library protect nothing from each other.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: a b
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_lock *lock[2];
int x;

THREAD(one)
{
    hidden_take(lock[0]);
    x = 1; // [a]
    hidden_drop(lock[0]);
    return NULL;
}

THREAD(two)
{
    hidden_take(lock[1]);
    x = 2; // [b]
    hidden_drop(lock[1]);
    return NULL;
}

int main(void)
{
    lock[0] = hidden_lock_new();
    lock[1] = hidden_lock_new();
    run_two(one, two);
    return 0;
}
