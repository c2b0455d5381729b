// Only the writer locks.
// race: a b
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(writer)
{
    pthread_mutex_lock(&lock);
    x = 1; // [a]
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(reader)
{
    USE(x); // [b]
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
