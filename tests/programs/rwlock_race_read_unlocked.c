// The reader takes no lock at all.
// race: a b
#include "prog.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int x;

THREAD(writer)
{
    pthread_rwlock_wrlock(&lock);
    x = 1; // [a]
    pthread_rwlock_unlock(&lock);
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
