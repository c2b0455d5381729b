// Destructors of thread-specific data run in the thread, before it is joined.
// gcc: also
#include "prog.h"

pthread_key_t key;
int x;

static void destructor(void *value)
{
    x += *(int *)value;
    free(value);
}

THREAD(child)
{
    int *value = malloc(sizeof(int));
    *value = 7;
    pthread_setspecific(key, value);
    return NULL;
}

int main(void)
{
    pthread_key_create(&key, destructor);
    pthread_join(start(child, NULL), NULL);
    return x - 7;
}
