// A handler posts a semaphore, and keeps errno as it was.
// issue: https://github.com/SophistSolutions/Stroika/issues/812
// tool: ThreadSanitizer
// there: false alarm; 'signal handler spoils errno' at sem_post, which may be called there
// verdict: no race; sem_post is async-signal-safe and orders the wait behind it
#include "prog.h"
#include <semaphore.h>
#include <signal.h>

static sem_t sem;
static int told;

static void handler(int number)
{
    int saved = errno;

    told = number;
    sem_post(&sem);
    errno = saved;
}

THREAD(waits)
{
    while (sem_wait(&sem))
        ;
    return told == SIGUSR1 ? NULL : &told;
}

int main(void)
{
    void *bad;

    sem_init(&sem, 0, 0);
    signal(SIGUSR1, handler);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL); // the other thread does not get it
    pthread_t t = start(waits, NULL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(SIGUSR1);
    pthread_join(t, &bad);
    return bad != NULL;
}
