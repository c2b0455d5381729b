// pthread_exit in a nested call; its value and what was written before are joined.
// gcc: also
#include "prog.h"

int x;

static void leave(int n)
{
    x = n;
    pthread_exit(&x);
}

THREAD(child)
{
    leave(5);
    return NULL;
}

int main(void)
{
    void *result;
    pthread_join(start(child, NULL), &result);
    return *(int *)result - 5;
}
