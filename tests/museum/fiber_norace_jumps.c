// Fibers that are begun by makecontext and switched by _setjmp and _longjmp between stacks.
// issue: https://github.com/orlyatomics/orly/pull/194
// tool: ThreadSanitizer
// there: crash; 'longjmp causes uninitialized stack frame', and a false race on the main stack
// verdict: no race; both stacks are used by one thread, in turn
// flags: -U_FORTIFY_SOURCE
#include "prog.h"
#include <setjmp.h>
#include <ucontext.h>

static char stack[65536];
static ucontext_t main_context, fiber_context;
static jmp_buf main_jump, fiber_jump;
int steps;

static void fiber(void)
{
    for (;;) {
        steps++;
        if (!_setjmp(fiber_jump))
            _longjmp(main_jump, 1);
    }
}

THREAD(runs_fibers)
{
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof(stack);
    makecontext(&fiber_context, fiber, 0);
    if (!_setjmp(main_jump))
        swapcontext(&main_context, &fiber_context);
    for (volatile int i = 0; i < 5; i++)
        if (!_setjmp(main_jump))
            _longjmp(fiber_jump, 1);
    return NULL;
}

int main(void)
{
    pthread_join(start(runs_fibers, NULL), NULL);
    return steps - 6;
}
