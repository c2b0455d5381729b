// A thread's stack is reused by the next thread, without an edge from one to the other.
// gcc: also
#include "prog.h"

static void touch(volatile int *p)
{
    p[0] = 1;
    p[50] = 2;
}

THREAD(work)
{
    volatile int local[100];
    touch(local);
    return NULL;
}

int main(void)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 10; i++) {
        pthread_t t;
        pthread_create(&t, &detached, work, NULL);
        pause_ms(2);
    }
    return 0;
}
