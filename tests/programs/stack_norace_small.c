// Threads with the smallest stack there is, doing a bit of everything; handlers on a small stack.
// gcc: also
#include "prog.h"
#include <limits.h>
#include <signal.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

static void handler(int number)
{
    __atomic_fetch_add(&x, number == SIGUSR1, __ATOMIC_SEQ_CST);
}

THREAD(work)
{
    pthread_mutex_lock(&lock);
    char *p = strdup("text");
    p[0] = 'T';
    free(p);
    pthread_mutex_unlock(&lock);
    raise(SIGUSR1);
    return NULL;
}

int main(void)
{
    pthread_attr_t small;
    pthread_t t[4];
    signal(SIGUSR1, handler);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&t[i], &small, work, NULL))
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return x - 4;
}
