// siglongjmp out of a handler for a segmentation fault, a thousand times.
// gcc: also
#include "prog.h"
#include <setjmp.h>
#include <signal.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
sigjmp_buf back;
int caught;

static void handler(int number)
{
    siglongjmp(back, number);
}

static void __attribute__((noinline)) fault(int *volatile p)
{
    *p = 1;
}

THREAD(other)
{
    pthread_mutex_lock(&lock);
    caught++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    signal(SIGSEGV, handler);
    pthread_t t = start(other, NULL);
    for (volatile int i = 0; i < 1000; i++)
        if (sigsetjmp(back, 1) == 0) {
            fault((int *)8);
        } else {
            pthread_mutex_lock(&lock);
            caught++;
            pthread_mutex_unlock(&lock);
        }
    pthread_join(t, NULL);
    return caught != 1001;
}
