// Each thread changes its own of three variables, in a loop, under a condition: the optimiser loads
// all of them before the loop.
// full: also
// flags: -O1
// flags: -O2
#include "prog.h"

int a, b, c, rounds = 4;

static __attribute__((noinline)) void work(int me)
{
    for (int i = 0; i < rounds; i++)
        switch (me + 3 * (i & 1)) {
        case 0:
            a++;
            break;
        case 1:
            b++;
            break;
        case 2:
            c++;
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
