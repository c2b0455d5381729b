// A fiber of main's thread against another thread.
// race: a b
#include "prog.h"
#include <ucontext.h>

ucontext_t mine, fiber;
char stack[65536];
int x;

static void body(void)
{
    x = 1; // [a]
}

THREAD(child)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    pthread_t t = start(child, NULL);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = sizeof(stack);
    fiber.uc_link = &mine;
    makecontext(&fiber, body, 0);
    swapcontext(&mine, &fiber);
    pthread_join(t, NULL);
    return 0;
}
