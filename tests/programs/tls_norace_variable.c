// Thread-local variables: one name, as many objects as threads; memory is reused.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

_Thread_local int counter;
_Thread_local char buffer[100];

THREAD(work)
{
    counter++;
    memset(buffer, counter, sizeof(buffer));
    return (void *)(intptr_t)counter;
}

int main(void)
{
    for (int i = 0; i < 5; i++)
        run_two(work, work);
    work(NULL);
    return counter - 1;
}
