// A grandchild and its uncle: create orders parent and child only.
// race: a b
#include "prog.h"

int x;

THREAD(grandchild)
{
    x = 1; // [a]
    return NULL;
}

THREAD(child)
{
    pthread_join(start(grandchild, NULL), NULL);
    return NULL;
}

THREAD(uncle)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(child, uncle);
    return 0;
}
