// The stack is right again after a longjmp over traced frames.
// race: a b
// stack: a second main
// flags: -O0
// flags: -O1
#include "prog.h"
#include <setjmp.h>

jmp_buf back;
int x;

static void __attribute__((noinline)) deeper(int n)
{
    if (n == 0)
        longjmp(back, 1);
    deeper(n - 1);
    x = 5;
}

THREAD(first)
{
    x = 1; // [b]
    return NULL;
}

static void __attribute__((noinline)) second(void)
{
    x = 2; // [a]
    __asm__ volatile("" : : : "memory");
}

int main(void)
{
    pthread_t t = start(first, NULL);
    if (setjmp(back) == 0)
        deeper(20);
    second();
    pthread_join(t, NULL);
    return 0;
}
