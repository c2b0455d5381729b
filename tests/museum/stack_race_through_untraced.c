// The racy function is called back by a library that was not built for the tool.
// issue: https://github.com/google/sanitizers/issues/941
// tool: ThreadSanitizer
// there: unusable report; stacks end at, or lack, the frames of code that is not instrumented
// verdict: race; two threads increment without a lock
// race: a a
// stack: a increment
// library: stack_untraced_each.c untraced
#include "prog.h"

int counter;
void each(int times, void (*call)(void));

static void increment(void)
{
    counter++; // [a]
}

THREAD(work)
{
    each(1, increment);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
