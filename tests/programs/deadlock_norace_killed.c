// Killed while threads wait for locks, but not for each other: for a thread that sleeps. Locks that
// refuse to be taken twice, and those that may be, were waited for before.
// exit: 137
// gcc: also
#include "stuck.h"

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
int has_a, has_both;

static void refused(void)
{
    pthread_mutex_lock(&checked);
    if (pthread_mutex_lock(&checked) != EDEADLK)
        abort();
    pthread_rwlock_wrlock(&table);
    if (pthread_rwlock_wrlock(&table) != EDEADLK || pthread_rwlock_rdlock(&table) != EDEADLK)
        abort();
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
}

THREAD(sleeps)
{
    refused();
    pthread_mutex_lock(&a);
    tell(&has_a);
    pthread_mutex_lock(&b);
    tell(&has_both);
    for (;;)
        pause_ms(1000);
    return NULL;
}

THREAD(waits_for_a)
{
    pthread_mutex_lock(&a);
    return NULL;
}

THREAD(waits_for_b)
{
    pthread_mutex_lock(&b);
    return NULL;
}

int main(void)
{
    start(sleeps, NULL);
    await(&has_both);
    start(waits_for_a, NULL);
    start(waits_for_b, NULL);
    await_waiters(&a);
    await_waiters(&b);
    raise(SIGKILL);
}
