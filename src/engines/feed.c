/* feed.c - steps of the trace to several engines, on several cores
 *
 * The decoding thread puts pieces of the trace into a ring; an engine that is
 * free and has not seen the next piece can be run by any worker. When the ring
 * is full the decoding thread works as well, so jobs threads are busy as long
 * as there is anything to do. Engines differ much in cost: the slowest one is
 * the bound, however many cores there are.
 */
#include "engines/feed.h"
#include "base/alloc.h"
#include "base/seconds.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A piece is about this many steps: 1.3 MB, and long enough (about a millisecond) that waking a
 * thread does not matter. It ends where a batch ends, so an event is never divided. */
enum { PIECE_STEPS = 32768, PIECES = 4 };

struct piece {
    struct step *steps;
    size_t cap;
    struct span span;
};

struct feed {
    struct engine_run **runs; /* those with steps() */
    size_t count;
    size_t nworkers;
    pthread_t *workers;
    struct piece pieces[PIECES]; /* number `produced` is being filled by the decoding thread */

    pthread_mutex_t lock;   /* guards what follows; never held while an engine runs */
    pthread_cond_t changed; /* a piece came, or an engine is through with one */
    uint64_t produced;
    uint64_t *next; /* by engine: the piece it needs */
    bool *busy;
    bool ended;
};

static void run_steps(struct engine_run *run, const struct span *span)
{
    double start = seconds_now();

    run->engine->steps(run->state, span);
    run->seconds += seconds_now() - start;
}

/* The free engine that is furthest behind, or count. */
static size_t find_work(const struct feed *f)
{
    size_t best = f->count;

    for (size_t i = 0; i < f->count; i++)
        if (!f->busy[i] && f->next[i] < f->produced &&
            (best == f->count || f->next[i] < f->next[best]))
            best = i;
    return best;
}

/* With the lock held. */
static void work(struct feed *f, size_t i)
{
    const struct span *span = &f->pieces[f->next[i] % PIECES].span;

    f->busy[i] = true;
    pthread_mutex_unlock(&f->lock);
    run_steps(f->runs[i], span);
    pthread_mutex_lock(&f->lock);
    f->busy[i] = false;
    f->next[i]++;
    pthread_cond_broadcast(&f->changed);
}

static uint64_t slowest(const struct feed *f)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < f->count; i++)
        least = f->next[i] < least ? f->next[i] : least;
    return least;
}

static void *worker(void *arg)
{
    struct feed *f = arg;

    pthread_mutex_lock(&f->lock);
    for (;;) {
        size_t i = find_work(f);

        if (i < f->count)
            work(f, i);
        else if (f->ended && slowest(f) == f->produced)
            break;
        else
            pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Help until no engine is `behind` pieces or more behind. */
static void feed_wait_for(struct feed *f, uint64_t behind)
{
    while (f->produced - slowest(f) >= behind) {
        size_t i = find_work(f);

        if (i < f->count)
            work(f, i);
        else
            pthread_cond_wait(&f->changed, &f->lock);
    }
}

static void take_runs(struct feed *f, struct engine_run *const *runs, size_t count)
{
    f->runs = xcalloc(count + 1, sizeof(*f->runs));
    for (size_t i = 0; i < count; i++)
        if (runs[i]->engine->steps)
            f->runs[f->count++] = runs[i];
}

/* Without threads (none were wanted, or the system has none left) engines run in feed_put(). */
static void start_workers(struct feed *f, size_t wanted)
{
    f->next = xcalloc(f->count, sizeof(*f->next));
    f->busy = xcalloc(f->count, sizeof(*f->busy));
    f->workers = xcalloc(wanted, sizeof(*f->workers));
    while (f->nworkers < wanted && !pthread_create(&f->workers[f->nworkers], NULL, worker, f))
        f->nworkers++;
}

struct feed *feed_new(struct engine_run *const *runs, size_t count, unsigned jobs)
{
    struct feed *f = xcalloc(1, sizeof(*f));

    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    take_runs(f, runs, count);
    if (jobs > 1 && f->count)
        start_workers(f, jobs - 1 < f->count ? jobs - 1 : f->count);
    return f;
}

/* Hand the piece over and wait until the next one's place is free. */
static void produce(struct feed *f)
{
    struct piece *next;

    pthread_mutex_lock(&f->lock);
    f->produced++;
    pthread_cond_broadcast(&f->changed);
    feed_wait_for(f, PIECES);
    next = &f->pieces[f->produced % PIECES];
    next->span.count = 0;
    pthread_mutex_unlock(&f->lock);
}

static void feed_append(struct piece *p, const struct span *span)
{
    size_t n = p->span.count;

    GROW(p->steps, p->cap, n + span->count);
    memcpy(p->steps + n, span->steps, span->count * sizeof(*span->steps));
    p->span = *span;
    p->span.steps = p->steps;
    p->span.count = n + span->count;
}

void feed_put(struct feed *f, const struct span *span)
{
    struct piece *p = &f->pieces[f->produced % PIECES];

    if (!span->count)
        return;
    if (!f->nworkers) {
        for (size_t i = 0; i < f->count; i++)
            run_steps(f->runs[i], span);
        return;
    }
    feed_append(p, span);
    if (p->span.count >= PIECE_STEPS)
        produce(f);
}

static void end(struct feed *f)
{
    if (f->pieces[f->produced % PIECES].span.count)
        produce(f);
    pthread_mutex_lock(&f->lock);
    feed_wait_for(f, 1);
    f->ended = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < f->nworkers; i++)
        pthread_join(f->workers[i], NULL);
}

void feed_free(struct feed *f)
{
    if (f->nworkers)
        end(f);
    for (size_t i = 0; i < PIECES; i++)
        free(f->pieces[i].steps);
    free(f->runs);
    free(f->workers);
    free(f->next);
    free(f->busy);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
