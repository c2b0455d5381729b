// swapcontext: two fibers of one thread take turns, and are one thread.
// gcc: also
#include "prog.h"
#include <ucontext.h>

ucontext_t mine, fiber;
char stack[65536];
int x;

static void body(void)
{
    for (;;) {
        x++;
        swapcontext(&fiber, &mine);
    }
}

int main(void)
{
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = sizeof(stack);
    fiber.uc_link = &mine;
    makecontext(&fiber, body, 0);
    for (int i = 0; i < 10; i++) {
        x++;
        swapcontext(&mine, &fiber);
    }
    return x - 20;
}
