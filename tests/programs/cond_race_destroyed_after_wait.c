// The signal comes after the unlock: the wait may be over, and the object gone.
// race: signal free
// race: late gone
// flags: -O0
// flags: -O2
#include "prog.h"

struct job {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int waits, done;
};
int signalled;

static int waits_now(struct job *j)
{
    pthread_mutex_lock(&j->lock);
    int n = j->waits;
    pthread_mutex_unlock(&j->lock);
    return n;
}

static struct job *job(void)
{
    struct job *j = calloc(1, sizeof *j);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->cond, NULL);
    return j;
}

static void finish(struct job *j)
{
    pthread_mutex_lock(&j->lock);
    j->done = 1;
    pthread_mutex_unlock(&j->lock);
}

THREAD(early)
{
    struct job *j = arg;
    while (!waits_now(j))
        pause_ms(1);
    finish(j);
    pthread_cond_signal(&j->cond); // [signal]
    tell(&signalled);
    return NULL;
}

THREAD(late)
{
    struct job *j = arg;
    finish(j);
    pthread_cond_broadcast(&j->cond); // [late]
    tell(&signalled);
    return NULL;
}

static void wait_for(struct job *j)
{
    pthread_mutex_lock(&j->lock);
    j->waits = 1;
    while (!j->done)
        pthread_cond_wait(&j->cond, &j->lock);
    pthread_mutex_unlock(&j->lock);
}

int main(void)
{
    struct job *j = job();
    pthread_t t = start(early, j);
    wait_for(j);
    await(&signalled);
    free(j); // [free]
    pthread_join(t, NULL);
    signalled = 0;
    j = job();
    t = start(late, j);
    await(&signalled);
    wait_for(j);
    pthread_cond_destroy(&j->cond); // [gone]
    pthread_join(t, NULL);
    free(j);
    return 0;
}
