// Ten one-byte slots in a row, each written by a thread of its own: bytes are separate objects.
// gcc: also
#include "prog.h"

char slots[10];

THREAD(work)
{
    slots[(intptr_t)arg] = 1;
    return NULL;
}

int main(void)
{
    pthread_t t[10];
    for (intptr_t i = 0; i < 10; i++)
        t[i] = start(work, (void *)i);
    for (int i = 0; i < 10; i++)
        pthread_join(t[i], NULL);
    return slots[0] + slots[9] - 2;
}
