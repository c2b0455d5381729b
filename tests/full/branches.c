/* branches.c - decisions that no compiler can fold or turn into a select; the program counts too
 *
 * Each outcome calls a function of its own, so branches stay branches at every level.
 */
#include "say.h"

volatile int input, sink;
static unsigned long taken, other, cases[9];

static __attribute__((noinline)) void yes(void)
{
    sink = 1;
}
static __attribute__((noinline)) void no(void)
{
    sink = 2;
}
static __attribute__((noinline)) void which(int n)
{
    sink = 10 + n;
}

int main(void)
{
    for (int i = 0; i < 200; i++) { /* loop: itself */
        input = i * 7919 % 11;
        if (input > 4) { /* if */
            taken++;
            yes();
        } else {
            other++;
            no();
        }
        switch (input) { /* switch */
        case 0:
            cases[1]++;
            which(0);
            break;
        case 3:
            cases[2]++;
            which(1);
            yes();
            break;
        case 17:
            cases[3]++;
            which(3);
            no();
            break;
        case 5:
            cases[4]++;
            which(7);
            which(8);
            break;
        case 900:
            cases[5]++;
            yes();
            no();
            break;
        case 7:
            cases[6]++;
            which(15);
            yes();
            break;
        case 8:
            cases[7]++;
            no();
            which(4);
            break;
        case 10:
            cases[8]++;
            no();
            no();
            break;
        default:
            cases[0]++;
            which(99);
            break;
        }
    }
    say("taken", taken);
    say("other", other);
    for (unsigned i = 0; i < 9; i++)
        say("case", cases[i]);
    return 0;
}
