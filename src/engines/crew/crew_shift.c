/* crew_shift.c - other processes at work on a batch of questions
 *
 * A thread for each seat: take a share, send it, wait for the answers. When
 * the batch is over while a seat still works (others were faster, or the user
 * has enough), it is left alone, and what it sends later is dropped.
 */
#include "base/alloc.h"
#include "base/seconds.h"
#include "engines/crew/crew_inside.h"

#include <stdlib.h>
#include <unistd.h>

/* A share should take so long: a thousand times the way there and back in a local network, and
 * short against a batch. */
#define SHARE_SECONDS 0.05

struct shift {
    struct crew *crew;
    const struct scope *scope;
    struct prove_queue *queue;
    size_t workers; /* threads and seats that take from the queue */
    uint64_t limit;
    struct work *works;
    size_t count;
};

/* One seat's part of it. */
struct work {
    struct shift *shift;
    struct seat *seat;
    struct prove_share share;
    pthread_t thread;
    bool started;
};

void seat_lose(struct seat *s)
{
    if (s->lost)
        return;
    close(s->fd);
    s->lost = true;
    s->crew->stats.lost++;
}

/* ---- a share ---- */

/* With so many questions in its hands. */
static void lose(struct work *w, size_t questions)
{
    struct crew *c = w->shift->crew;

    pthread_mutex_lock(&c->lock);
    seat_lose(w->seat);
    c->stats.returned += questions;
    pthread_mutex_unlock(&c->lock);
}

static bool send_share(struct work *w, uint64_t id)
{
    struct buf b = { 0 };
    int r;

    remote_put_ask(&b, id, w->shift->scope, &w->share);
    r = frame_send(w->seat->fd, REMOTE_ASK, b.data, b.len);
    buf_release(&b);
    return r == 0;
}

static void use_answers(struct work *w)
{
    struct crew *c = w->shift->crew;

    for (size_t i = 0; i < w->share.count; i++)
        prove_queue_answer(w->shift->queue, w->share.index[i], &w->share.questions[i]);
    pthread_mutex_lock(&c->lock);
    c->stats.answered += w->share.count;
    pthread_mutex_unlock(&c->lock);
}

enum outcome { ANSWERED, REFUSED, OVER, LOST };

/* Until something with this id comes. */
static enum outcome crew_shift_wait_for(struct work *w, uint64_t id)
{
    struct seat *s = w->seat;

    for (;;) {
        int r = frame_receive(&s->frame, s->fd, w->shift->queue->news);

        if (r <= 0)
            return r ? LOST : OVER;
        if (remote_get_id(&s->frame.body) != id)
            continue;
        if (s->frame.kind == REMOTE_REFUSE)
            return REFUSED;
        return s->frame.kind == REMOTE_ANSWER ? ANSWERED : LOST;
    }
}

/* True: and it can take another one. */
static bool do_share(struct work *w)
{
    struct crew *c = w->shift->crew;
    struct seat *s = w->seat;
    double start = seconds_now();
    uint64_t id = __atomic_add_fetch(&c->shares, 1, __ATOMIC_RELAXED);
    enum outcome got = send_share(w, id) ? crew_shift_wait_for(w, id) : LOST;

    if (got == ANSWERED && !remote_get_answer(&s->frame.body, &w->share, w->shift->limit))
        got = LOST;
    s->pace = (seconds_now() - start) / (double)w->share.count;
    if (got == ANSWERED) {
        use_answers(w);
        return true;
    }
    if (got == OVER)
        s->pending = id;
    else if (got == REFUSED)
        s->refused = c->traces;
    else
        lose(w, w->share.count);
    prove_queue_return(w->shift->queue, &w->share);
    return false;
}

/* ---- a shift ---- */

/* It may still be busy with a share of the batch before. */
static bool is_ready(struct work *w)
{
    enum outcome got;

    if (!w->seat->pending)
        return true;
    got = crew_shift_wait_for(w, w->seat->pending);
    if (got == LOST)
        lose(w, 0);
    if (got == OVER || got == LOST)
        return false;
    w->seat->pending = 0;
    return true;
}

static size_t share_size(const struct seat *s)
{
    double n = SHARE_SECONDS / (s->pace > 1e-9 ? s->pace : 1e-9);

    return n >= SHARE_MAX ? SHARE_MAX : n >= 1 ? (size_t)n : 1;
}

static void *work(void *arg)
{
    struct work *w = arg;
    struct shift *s = w->shift;

    if (!is_ready(w))
        return NULL;
    while (prove_queue_take_share(s->queue, &w->share, share_size(w->seat), 2 * s->workers))
        if (!do_share(w))
            break;
    return NULL;
}

static bool is_useful(const struct seat *s)
{
    return !s->lost && s->refused != s->crew->traces;
}

struct shift *crew_begin(struct crew *c, const struct scope *scope, struct prove_queue *queue,
                         size_t locals, uint64_t limit)
{
    struct shift *s;

    if (!c)
        return NULL;
    s = xcalloc(1, sizeof(*s));
    *s = (struct shift){ c, scope, queue, locals, limit, NULL, 0 };
    pthread_mutex_lock(&c->lock);
    s->works = xcalloc(c->nseats + 1, sizeof(*s->works));
    for (size_t i = 0; c->traces && i < c->nseats; i++)
        if (is_useful(c->seats[i]))
            s->works[s->count++] = (struct work){ .shift = s, .seat = c->seats[i] };
    s->workers = locals + s->count;
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < s->count; i++)
        s->works[i].started = !pthread_create(&s->works[i].thread, NULL, work, &s->works[i]);
    return s;
}

void crew_end(struct shift *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->works[i].started)
            pthread_join(s->works[i].thread, NULL);
    free(s->works);
    free(s);
}
