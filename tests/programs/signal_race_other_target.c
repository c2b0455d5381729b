// Who sends a signal to one thread is not ordered with the handler of another.
// race: a b
// race: c d
// stack: b handler
// gcc: also
#include "prog.h"
#include <signal.h>

int direct, queued, ready[2], sent, seen, stop;
__thread int reads;

static void handler(int number)
{
    if (!reads)
        return;
    if (number == SIGUSR1)
        USE(direct); // [b]
    else
        USE(queued); // [d]
    __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
}

THREAD(target)
{
    reads = arg != NULL;
    tell(&ready[reads]);
    await(&stop);
    return NULL;
}

THREAD(sender)
{
    pthread_t *other = arg;
    union sigval none = { 0 };
    direct = 1; // [a]
    queued = 1; // [c]
    pthread_kill(*other, SIGUSR1);
    pthread_sigqueue(*other, SIGUSR2, none);
    kill(getpid(), SIGWINCH); /* for all, but of another number */
    tell(&sent);
    return NULL;
}

int main(void)
{
    signal(SIGUSR1, handler);
    signal(SIGUSR2, handler);
    pthread_t first = start(target, NULL), second = start(target, &stop);
    await(&ready[0]);
    await(&ready[1]);
    pthread_t s = start(sender, &first);
    await(&sent);
    pthread_kill(second, SIGUSR1);
    pthread_kill(second, SIGUSR2);
    while (__atomic_load_n(&seen, __ATOMIC_RELAXED) < 2)
        pause_ms(1);
    tell(&stop);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    pthread_join(s, NULL);
    return 0;
}
