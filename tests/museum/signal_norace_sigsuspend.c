// A blocked signal is delivered by sigsuspend.
// issue: https://github.com/google/sanitizers/issues/430
// tool: ThreadSanitizer
// there: hang; the handler does not run inside of sigsuspend
// verdict: no race; the handler runs in the thread that waits for it
// stdout: handled
#include "prog.h"
#include <signal.h>

static volatile sig_atomic_t handled;

static void handler(int number)
{
    handled = number;
}

THREAD(waits)
{
    sigset_t one, old, rest;

    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, &old);
    raise(SIGUSR1);
    if (handled)
        abort();
    sigfillset(&rest);
    sigdelset(&rest, SIGUSR1);
    sigsuspend(&rest);
    return NULL;
}

int main(void)
{
    signal(SIGUSR1, handler);
    pthread_join(start(waits, NULL), NULL);
    if (handled)
        puts("handled");
    return 0;
}
