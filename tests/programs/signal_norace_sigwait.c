// A thread waits for signals with sigwait; a lock protects what it shares.
// gcc: also
#include "prog.h"
#include <signal.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(waiter)
{
    int number;
    sigwait(arg, &number);
    pthread_mutex_lock(&lock);
    x += number == SIGUSR1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t t = start(waiter, &set);
    pthread_mutex_lock(&lock);
    x++;
    pthread_mutex_unlock(&lock);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    return x - 2;
}
