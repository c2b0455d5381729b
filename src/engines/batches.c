/* batches.c - many questions decided by several threads; see batches.h */
#include "engines/batches.h"
#include "base/abreast.h"
#include "base/alloc.h"
#include "engines/effort.h"

#include <pthread.h>
#include <stdlib.h>

struct queue {
    const struct batches *b;
    size_t first, next, end, count; /* of the batch, and all */
    size_t settled;                 /* tasks before it are done, and counted in `spent` */
    uint64_t spent, left;
    bool *done; /* of the batch */
    bool stopped;
    pthread_mutex_t lock; /* protects all but what is the same in a batch */
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

/* The first tasks say what they took; when that is all there is, the others do not count. */
static void batches_settle(struct queue *q, size_t task)
{
    pthread_mutex_lock(&q->lock);
    q->done[task - q->first] = true;
    while (q->settled < q->end && q->done[q->settled - q->first] && q->spent < q->left)
        q->spent += q->b->work(q->b->arg, q->settled++);
    q->stopped |= q->spent >= q->left;
    pthread_mutex_unlock(&q->lock);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct queue *q = w->q;
    size_t task;

    while (next_task(q, &task)) {
        q->b->decide(q->b->arg, w->thread, task);
        batches_settle(q, task);
        if (w->thread == 0 && whole_stop(q->b->whole, (double)task / (double)q->count)) {
            pthread_mutex_lock(&q->lock);
            q->stopped = true;
            pthread_mutex_unlock(&q->lock);
        }
    }
    return NULL;
}

static void batches_run_batch(struct queue *q)
{
    struct worker *workers = xcalloc(q->b->threads, sizeof(*workers));

    for (unsigned i = 0; i < q->b->threads; i++)
        workers[i] = (struct worker){ q, i };
    abreast(q->b->threads, work, workers, sizeof(*workers));
    free(workers);
}

/* The end of what counts of the batch: where the budget is used up, or all; a task that the user
 * did not wait for says itself that it is not decided. */
static size_t end_of_batch(struct queue *q)
{
    size_t end = q->spent >= q->left ? q->settled : q->end;

    whole_spend(q->b->whole, q->spent);
    q->stopped |= whole_poll(q->b->whole);
    return end;
}

size_t batches_run(const struct batches *b, size_t count)
{
    struct queue q = { .b = b, .count = count };
    size_t used = 0;

    q.done = xcalloc(b->size, sizeof(*q.done));
    q.stopped = !whole_left(b->whole);
    pthread_mutex_init(&q.lock, NULL);
    while (used < count && !q.stopped) {
        size_t end;

        q.first = q.next = q.settled = used;
        q.end = count - used < b->size ? count : used + b->size;
        q.spent = 0;
        q.left = whole_left(b->whole);
        for (size_t i = 0; i < b->size; i++)
            q.done[i] = false;
        batches_run_batch(&q);
        end = end_of_batch(&q);
        for (; used < end; used++)
            b->use(b->arg, used);
    }
    pthread_mutex_destroy(&q.lock);
    free(q.done);
    return used;
}
