/* batches.c - many questions decided by several threads; see batches.h */
#include "engines/batches.h"
#include "base/abreast.h"
#include "base/alloc.h"
#include "engines/whole.h"

#include <pthread.h>
#include <stdlib.h>

struct queue {
    const struct batches *b;
    size_t next, end, count;
    bool stopped;
    pthread_mutex_t lock; /* protects `next` and `stopped` */
};

struct worker {
    struct queue *q;
    unsigned thread; /* 0: the calling one, which looks whether to stop */
};

static bool next_task(struct queue *q, size_t *task)
{
    bool some;

    pthread_mutex_lock(&q->lock);
    some = q->next < q->end && !q->stopped;
    *task = q->next;
    q->next += some;
    pthread_mutex_unlock(&q->lock);
    return some;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct queue *q = w->q;
    size_t task;

    while (next_task(q, &task)) {
        q->b->decide(q->b->arg, w->thread, task);
        if (w->thread == 0 && whole_stop(q->b->whole, (double)task / (double)q->count)) {
            pthread_mutex_lock(&q->lock);
            q->stopped = true;
            pthread_mutex_unlock(&q->lock);
        }
    }
    return NULL;
}

static void run_batch(struct queue *q)
{
    struct worker *workers = xcalloc(q->b->threads, sizeof(*workers));

    for (unsigned i = 0; i < q->b->threads; i++)
        workers[i] = (struct worker){ q, i };
    abreast(q->b->threads, work, workers, sizeof(*workers));
    free(workers);
}

size_t batches_run(const struct batches *b, size_t count)
{
    struct queue q = { .b = b, .count = count };
    size_t used = 0;

    pthread_mutex_init(&q.lock, NULL);
    while (used < count && !q.stopped) {
        q.end = count - used < b->size ? count : used + b->size;
        run_batch(&q);
        q.stopped |= whole_poll(b->whole);
        for (; used < q.end; used++)
            b->use(b->arg, used);
    }
    pthread_mutex_destroy(&q.lock);
    return used;
}
