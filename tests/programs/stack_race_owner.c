// The owner of the local reads it while the thread writes.
// race: a b
// flags: -O0
// flags: -O2
#include "prog.h"

THREAD(child)
{
    *(int *)arg = 1; // [a]
    return NULL;
}

int main(void)
{
    int local = 0;
    pthread_t t = start(child, &local);
    USE(local); // [b]
    pthread_join(t, NULL);
    return 0;
}
