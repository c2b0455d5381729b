// A loop unrolled by hand: each of its lines makes every fourth access. A site's accesses at equal
// distances are one record: exactly these addresses, none between them.
// race: second x
// race: fourth y
// flags: -O1
// flags: -O2
// gcc: also
#include "prog.h"

enum { N = 4096 };
short a[N];
int back[4 * N];

THREAD(forth)
{
    for (int i = 0; i < N; i += 4) {
        a[i] = 1;
        a[i + 1] = 1; // [second]
        a[i + 2] = 1;
        a[i + 3] = 1;
    }
    for (int i = N - 4; i >= 0; i -= 4) { /* whole structures apart, backwards */
        back[4 * i] = 1;
        back[4 * i + 4] = 1;
        back[4 * i + 8] = 1;
        back[4 * i + 12] = 1; // [fourth]
    }
    return NULL;
}

THREAD(one)
{
    a[1001] = 2;       // [x]
    back[4 * 999] = 2; // [y]
    back[4 * 999 + 1] = 2;
    back[4 * 999 - 1] = 2;
    return NULL;
}

int main(void)
{
    run_two(forth, one);
    return 0;
}
