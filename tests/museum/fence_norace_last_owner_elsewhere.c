// The last reference to a job is dropped by a thread that did not create it.
// issue: https://github.com/chriskohlhoff/asio/issues/1760
// tool: ThreadSanitizer
// there: false alarm; deleting races with an earlier decrement, at the end of an executor
// verdict: no race; release decrement, acquire fence, free: the free comes after all uses
#include "prog.h"

struct job {
    int count, target;
};
int handed;

static void release(struct job *job)
{
    if (__atomic_fetch_sub(&job->count, 1, __ATOMIC_RELEASE) == 1) {
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        free(job);
    }
}

static void *session(void *arg)
{
    struct job *job = arg;

    job->target = 7;
    release(job);
    tell(&handed);
    return NULL;
}

static void *reaper(void *arg)
{
    await(&handed);
    release(arg);
    return NULL;
}

int main(void)
{
    struct job *job = calloc(1, sizeof(*job));

    job->count = 2;
    pthread_t a = start(session, job), b = start(reaper, job);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
