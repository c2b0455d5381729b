/* prove_queue.c - who answers which question of a batch */
#include "engines/predict/prove_queue.h"
#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* In the hands of a local thread, of a seat; answered. */
enum { LOCAL = 1, AWAY = 2, DONE = 4 };

void prove_queue_init(struct prove_queue *q)
{
    pthread_condattr_t attr;

    *q = (struct prove_queue){ .news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->changed, &attr);
    pthread_condattr_destroy(&attr);
}

void prove_queue_release(struct prove_queue *q)
{
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    if (q->news >= 0)
        close(q->news);
    free(q->state);
}

/* ---- a batch ---- */

void prove_queue_begin(struct prove_queue *q, struct question *questions, size_t n, uint64_t left)
{
    uint64_t unused;

    if (q->news >= 0)
        (void)!read(q->news, &unused, sizeof(unused));
    GROW(q->state, q->state_cap, n + 1);
    memset(q->state, 0, n);
    q->questions = questions;
    q->count = q->open = n;
    q->next = 0;
    q->held = q->spent = 0;
    q->settled = 0;
    q->left = left;
    q->stopped = !left;
}

/* With the lock held. */
static void prove_queue_tell(struct prove_queue *q)
{
    uint64_t one = 1;

    if (q->open && !q->stopped)
        return;
    pthread_cond_broadcast(&q->changed);
    if (q->news >= 0)
        (void)!write(q->news, &one, sizeof(one));
}

void prove_queue_stop(struct prove_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stopped = true;
    prove_queue_tell(q);
    pthread_mutex_unlock(&q->lock);
}

bool prove_queue_wait(struct prove_queue *q, int milliseconds)
{
    struct timespec until;
    bool over;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&q->lock);
    while (q->open && !q->stopped &&
           pthread_cond_timedwait(&q->changed, &q->lock, &until) != ETIMEDOUT)
        ;
    over = !q->open || q->stopped;
    pthread_mutex_unlock(&q->lock);
    return over;
}

/* Answered or not, it does not count. */
static void skip(struct prove_queue *q, size_t i)
{
    struct question *x = &q->questions[i];

    if (q->state[i] & DONE)
        free(x->list);
    x->list = NULL;
    x->count = 0;
    x->answer = PREDICT_UNDECIDED;
    x->skipped = true;
}

size_t prove_queue_end(struct prove_queue *q)
{
    bool over = q->spent >= q->left;

    for (size_t i = 0; i < q->count; i++)
        if (!(q->state[i] & DONE) || (over && i >= q->settled))
            skip(q, i);
        else
            predict_stats_add(&q->stats, &q->questions[i].stats);
    return q->count;
}

/* ---- handing out ---- */

/* With the lock held: the first one that nobody has, or the number of questions. */
static size_t first_free(struct prove_queue *q)
{
    while (q->next < q->count && q->state[q->next])
        q->next++;
    return q->next;
}

/* With the lock held: the last one that only seats have; SIZE_MAX: none. */
static size_t last_away(const struct prove_queue *q)
{
    for (size_t i = q->count; i-- > 0;)
        if (q->state[i] == AWAY)
            return i;
    return SIZE_MAX;
}

bool prove_queue_take(struct prove_queue *q, size_t *i, struct question *copy)
{
    pthread_mutex_lock(&q->lock);
    *i = q->stopped ? SIZE_MAX : first_free(q);
    if (*i == q->count)
        *i = last_away(q);
    if (*i != SIZE_MAX) {
        q->state[*i] |= LOCAL;
        *copy = q->questions[*i];
    }
    pthread_mutex_unlock(&q->lock);
    return *i != SIZE_MAX;
}

bool prove_queue_take_share(struct prove_queue *q, struct prove_share *share, size_t most,
                            size_t among)
{
    size_t fair, n = 0;

    pthread_mutex_lock(&q->lock);
    fair = (q->count - first_free(q)) / among + 1;
    most = most < fair ? most : fair;
    most = most < SHARE_MAX ? most : SHARE_MAX;
    for (; n < most && !q->stopped && first_free(q) < q->count; n++) {
        share->index[n] = q->next;
        share->questions[n] = q->questions[q->next];
        q->state[q->next] = AWAY;
    }
    share->count = n;
    pthread_mutex_unlock(&q->lock);
    return n > 0;
}

void prove_queue_return(struct prove_queue *q, const struct prove_share *share)
{
    pthread_mutex_lock(&q->lock);
    for (size_t i = 0; i < share->count; i++) {
        size_t k = share->index[i];

        q->state[k] &= (uint8_t)~AWAY;
        if (!q->state[k] && k < q->next)
            q->next = k;
    }
    pthread_mutex_unlock(&q->lock);
}

/* ---- answers ---- */

void predict_stats_add(struct predict_stats *sum, const struct predict_stats *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;

    for (size_t i = 0; i < sizeof(*s) / sizeof(*from); i++)
        to[i] += from[i];
}

/* With the lock held: too much in memory, the batch ends with what was handed out. */
static void cut_short(struct prove_queue *q)
{
    size_t end = q->count;

    while (end && !q->state[end - 1])
        end--;
    q->open -= q->count - end;
    q->count = end;
}

/* What needs alone decide takes some microseconds. */
enum { UNITS_AN_INSTANCE = 300 };

static uint64_t units_of(const struct question *q)
{
    return q->stats.work + UNITS_AN_INSTANCE * (uint64_t)q->ninstances;
}

/* With the lock held: when the first ones have used up all there is, the others need no answer. */
static void prove_queue_settle(struct prove_queue *q)
{
    while (q->settled < q->count && q->state[q->settled] & DONE && q->spent < q->left)
        q->spent += units_of(&q->questions[q->settled++]);
    q->stopped |= q->spent >= q->left;
}

void prove_queue_answer(struct prove_queue *q, size_t i, const struct question *answer)
{
    uint64_t events = answer->list ? answer->count : 0;

    pthread_mutex_lock(&q->lock);
    if (q->state[i] & DONE) {
        free(answer->list);
    } else {
        q->questions[i] = *answer;
        q->state[i] |= DONE;
        q->open--;
        if (q->held <= LISTS_EVENTS_MAX && q->held + events > LISTS_EVENTS_MAX)
            cut_short(q);
        q->held += events;
        prove_queue_settle(q);
        prove_queue_tell(q);
    }
    pthread_mutex_unlock(&q->lock);
}
