/* rows.c - rows of work, shared out among threads, within a budget; see rows.h */
#include "engines/rows.h"
#include "base/abreast.h"
#include "base/alloc.h"
#include "engines/effort.h"

#include <pthread.h>
#include <stdlib.h>

struct block {
    struct rows *r;
    uint32_t next, end;
    uint32_t settled; /* rows of the block before it are done, and counted in `spent` */
    uint64_t spent, left;
    uint64_t units[ROWS_A_BLOCK];
    bool done[ROWS_A_BLOCK];
    pthread_mutex_t lock; /* for all of this */
};

struct hand {
    struct block *b;
    void *worker;
    bool is_main; /* may ask whole_stop() */
};

static bool rows_take(struct block *b, uint32_t *row)
{
    bool some;

    pthread_mutex_lock(&b->lock);
    some = b->next < b->end && !rows_is_stopped(b->r);
    *row = b->next;
    b->next += some;
    pthread_mutex_unlock(&b->lock);
    return some;
}

static void stop(struct rows *r)
{
    __atomic_store_n(&r->stopped, true, __ATOMIC_RELAXED);
}

/* The first rows say what they took; when that is all there is, the others need not go on. */
static void rows_settle(struct block *b, uint32_t row, uint64_t units)
{
    uint32_t first = b->r->first;

    pthread_mutex_lock(&b->lock);
    b->units[row - first] = units;
    b->done[row - first] = true;
    while (b->settled < b->end && b->done[b->settled - first] && b->spent < b->left)
        b->spent += b->units[b->settled++ - first];
    if (b->spent >= b->left)
        stop(b->r);
    pthread_mutex_unlock(&b->lock);
}

static void *work(void *arg)
{
    struct hand *h = arg;
    struct rows *r = h->b->r;
    uint32_t row;

    while (rows_take(h->b, &row)) {
        rows_settle(h->b, row, r->run(h->worker, row, h->b->left));
        if (h->is_main && whole_stop(r->whole, 0.5 + 0.5 * (double)row / (double)r->count))
            stop(r);
    }
    return NULL;
}

static void run_block(struct block *b)
{
    struct rows *r = b->r;
    struct hand *hands = xcalloc(r->jobs, sizeof(*hands));

    for (unsigned i = 0; i < r->jobs; i++)
        hands[i] = (struct hand){ b, (char *)r->workers + i * r->worker_bytes, i == 0 };
    abreast(r->jobs, work, hands, sizeof(*hands));
    free(hands);
}

static uint32_t block_end(const struct rows *r, uint32_t first)
{
    return r->count - first < ROWS_A_BLOCK ? r->count : first + ROWS_A_BLOCK;
}

uint32_t rows_run(struct rows *r)
{
    struct block b = { .r = r };
    uint64_t limit = r->limit;

    pthread_mutex_init(&b.lock, NULL);
    r->stopped = false;
    for (r->first = 0; r->first < r->count && !r->stopped; r->first = b.settled) {
        for (size_t i = 0; i < ROWS_A_BLOCK; i++)
            b.done[i] = false;
        b.next = b.settled = r->first;
        b.end = block_end(r, r->first);
        b.spent = 0;
        b.left = whole_left(r->whole) < limit ? whole_left(r->whole) : limit;
        if (!b.left)
            break;
        run_block(&b);
        whole_spend(r->whole, b.spent);
        limit -= b.spent < limit ? b.spent : limit;
        r->use(r->arg, r->first, b.spent >= b.left ? b.settled : b.end);
    }
    pthread_mutex_destroy(&b.lock);
    return r->first;
}
