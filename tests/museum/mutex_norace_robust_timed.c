// The owner of a robust mutex ends; another thread gets it by pthread_mutex_timedlock.
// issue: https://github.com/sysrepo/sysrepo/issues/2560
// tool: ThreadSanitizer
// there: false alarm; 'unlock of an unlocked mutex': EOWNERDEAD of the timed lock is not known
// verdict: no race; the lock is passed on when its owner ends, and both write under it
#include "prog.h"

static pthread_mutex_t lock;
int data;

THREAD(owner)
{
    pthread_mutex_lock(&lock);
    data = 10;
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t attr;
    struct timespec until;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attr);
    pthread_t t = start(owner, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    int got = pthread_mutex_timedlock(&lock, &until);
    if (got == 0) { // before the owner
        pthread_mutex_unlock(&lock);
        pthread_join(t, NULL);
        got = pthread_mutex_timedlock(&lock, &until);
        t = 0;
    }
    if (got != EOWNERDEAD)
        return 1;
    data = 20;
    pthread_mutex_consistent(&lock);
    pthread_mutex_unlock(&lock);
    return t ? pthread_join(t, NULL) : 0;
}
