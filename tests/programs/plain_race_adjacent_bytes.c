// Eight threads write eight bytes of a word, a ninth reads the fourth byte only.
// race: a b
// never: a a
#include "prog.h"

char slots[8];

THREAD(work)
{
    slots[(intptr_t)arg] = 1; // [a]
    return NULL;
}

THREAD(reader)
{
    USE(slots[3]); // [b]
    return NULL;
}

int main(void)
{
    pthread_t t[9];
    for (intptr_t i = 0; i < 8; i++)
        t[i] = start(work, (void *)i);
    t[8] = start(reader, NULL);
    for (int i = 0; i < 9; i++)
        pthread_join(t[i], NULL);
    return 0;
}
