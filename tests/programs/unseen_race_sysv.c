// A library hands over as in unseen_norace_sysv.c; what comes later races.
// race: a b
// library: untraced_sysv.c untraced
#include "prog.h"

void sysv_begin(void), sysv_end(void), sysv_post(void), sysv_wait(void), sysv_send(void);
void sysv_receive(void), sysv_make(void), sysv_find(void);

static int x, y, z, late;

THREAD(first)
{
    x = 1;
    sysv_post();
    y = 1;
    sysv_send();
    z = 1;
    sysv_make();
    late = 1; // [a]
    return NULL;
}

THREAD(second)
{
    sysv_wait();
    x = 2;
    sysv_receive();
    y = 2;
    sysv_find();
    z = 2;
    late = 2; // [b]
    return NULL;
}

int main(void)
{
    sysv_begin();
    run_two(first, second);
    sysv_end();
    USE(x + y + z + late);
    return 0;
}
