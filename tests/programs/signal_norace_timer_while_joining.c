// A thousand handlers while main waits in one call: what they record must not be lost or misplaced.
#include "prog.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tick(int number)
{
    (void)number;
    ticks++;
}

THREAD(worker)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
        usleep(5000);
    }
    return NULL;
}

int main(void)
{
    struct itimerval every = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
    sigset_t all;
    pthread_t t;

    signal(SIGALRM, tick);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL); /* inherited: handlers run in main only */
    t = start(worker, NULL);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_join(t, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    return shared != 100;
}
