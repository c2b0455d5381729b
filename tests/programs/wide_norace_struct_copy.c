// Neighbouring structs of an odd size, copied at the same time from one source.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

struct odd {
    char v[37];
} from, to[2];

THREAD(copy)
{
    to[(intptr_t)arg] = from;
    return NULL;
}

int main(void)
{
    memset(&from, 1, sizeof(from));
    pthread_t a = start(copy, (void *)0), b = start(copy, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return to[0].v[36] + to[1].v[0] - 2;
}
