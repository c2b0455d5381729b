// An untraced library locks around a callback into traced code: its locks are seen all the same.
// library: library_untraced.c untraced
// gcc: also
#include "prog.h"

void with_lock(void (*f)(void));
int x;

static void increment(void)
{
    x++;
}

THREAD(work)
{
    with_lock(increment);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 2;
}
