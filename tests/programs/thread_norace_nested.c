// Threads that create threads, four levels deep, each with its own result.
// gcc: also
#include "prog.h"

int result[5];

THREAD(level)
{
    intptr_t n = (intptr_t)arg;
    if (n < 4) {
        pthread_join(start(level, (void *)(n + 1)), NULL);
        result[n] = result[n + 1] + 1;
    }
    return NULL;
}

int main(void)
{
    pthread_join(start(level, (void *)0), NULL);
    return result[0] - 4;
}
