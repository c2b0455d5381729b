// Destructors of two threads race like any other code, after the thread functions have returned.
// race: a a
#include "prog.h"

pthread_key_t key;
int x;

static void destructor(void *value)
{
    (void)value;
    x++; // [a]
}

THREAD(child)
{
    pthread_setspecific(key, &x);
    return NULL;
}

int main(void)
{
    pthread_key_create(&key, destructor);
    run_two(child, child);
    return 0;
}
