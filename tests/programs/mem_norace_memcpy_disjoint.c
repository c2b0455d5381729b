// Two threads copy from one source into two halves of one buffer.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

char to[200], from[100];
volatile size_t length = 100;

THREAD(copy)
{
    memcpy(to + (intptr_t)arg, from, length);
    return NULL;
}

int main(void)
{
    memset(from, 1, length);
    pthread_t a = start(copy, (void *)0), b = start(copy, (void *)100);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return to[99] + to[100] - 2;
}
