// A hundred thousand times _setjmp, and _longjmp out of a nested function.
// issue: https://github.com/llvm/llvm-project/issues/161443
// tool: ThreadSanitizer
// there: crash; _longjmp is not intercepted there, the tool's stack of calls overflows
// verdict: no race; each thread jumps inside of its own stack
#include "prog.h"
#include <setjmp.h>

int jumps;

__attribute__((noinline)) static void leave(jmp_buf *where)
{
    _longjmp(*where, 1);
}

THREAD(work)
{
    jmp_buf here;

    for (volatile int i = 0; i < 100000; i++)
        if (_setjmp(here) == 0)
            leave(&here);
        else
            jumps++;
    return NULL;
}

int main(void)
{
    pthread_join(start(work, NULL), NULL);
    return jumps - 100000;
}
