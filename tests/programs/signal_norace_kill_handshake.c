// pthread_kill wakes a thread; sigaction with siginfo; a semaphore posted in the handler.
// gcc: also
#include "prog.h"
#include <semaphore.h>
#include <signal.h>

sem_t woken;
int x;

static void handler(int number, siginfo_t *info, void *context)
{
    (void)context;
    x = number + (info->si_pid == getpid());
    sem_post(&woken);
}

THREAD(child)
{
    while (sem_trywait(&woken))
        pause_ms(1);
    sem_post(arg);
    return NULL;
}

int main(void)
{
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    sem_t done;
    sem_init(&woken, 0, 0);
    sem_init(&done, 0, 0);
    sigaction(SIGUSR1, &a, NULL);
    pthread_t t = start(child, &done);
    pthread_kill(t, SIGUSR1);
    while (sem_wait(&done) && errno == EINTR)
        ;
    int result = x - SIGUSR1 - 1;
    pthread_join(t, NULL);
    return result;
}
