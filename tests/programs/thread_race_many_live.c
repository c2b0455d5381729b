// 100 live threads, one of them writes another's cell.
// race: a b
#include "prog.h"

enum { N = 100 };
int cell[N];

THREAD(child)
{
    intptr_t me = (intptr_t)arg;
    cell[me] = 1; // [a]
    if (me == 42)
        cell[77] = 2; // [b]
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        t[i] = start(child, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
