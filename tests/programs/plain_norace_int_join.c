// Create and join order everything that main does before and after.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

int x;

THREAD(child)
{
    x = x + 1;
    return NULL;
}

int main(void)
{
    x = 1;
    pthread_join(start(child, NULL), NULL);
    x = x + 1;
    pthread_join(start(child, NULL), NULL);
    return x - 4;
}
