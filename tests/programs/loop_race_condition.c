// As loop_norace_condition, and both threads change the same variable. (At -O2 a merged line.)
// race: a|f a|f
// flags: -O1
// flags: -O2
#include "prog.h"

int a, b, rounds = 4;

static __attribute__((noinline)) void work(int me)
{
    for (int i = 0; i < rounds; i++) // [f]
        switch (me + 3 * (i & 1)) {
        case 0:
        case 1:
            a++; // [a]
            break;
        case 2:
            b++;
            break;
        default:
            break;
        }
}

THREAD(first)
{
    work(0);
    return NULL;
}

THREAD(second)
{
    work(1);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
