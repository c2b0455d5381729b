// Callbacks under two locks that an untraced library made; what they touch is not passed.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: a b
#include "prog.h"
#include "untraced_hidden.h"

static struct hidden_lock *lock[2];
int x;

static void one(void *p)
{
    (void)p;
    x = 1; // [a]
}

static void two(void *p)
{
    (void)p;
    x = 2; // [b]
}

THREAD(first)
{
    hidden_locked(lock[0], one, NULL);
    return NULL;
}

THREAD(second)
{
    hidden_locked(lock[1], two, NULL);
    return NULL;
}

int main(void)
{
    lock[0] = hidden_lock_new();
    lock[1] = hidden_lock_new();
    run_two(first, second);
    return 0;
}
