/* explore_next.c - the orders that wait, and which of them comes next
 *
 * Best first: a low score, and few other orders of the same two places tried.
 */
#include "cmd/explore/explore_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_MOST = 1 << 14,
};

void schedule_add(struct schedule *s, uint64_t thread, uint32_t steps)
{
    if (s->count && s->segments[s->count - 1].thread == thread) {
        s->segments[s->count - 1].steps += steps;
        return;
    }
    GROW(s->segments, s->cap, s->count + 1);
    s->segments[s->count++] = (struct explore_segment){ thread, steps, 0 };
}

void schedule_release(struct schedule *s)
{
    free(s->segments);
    *s = (struct schedule){ 0 };
}

struct explorer *explorer_new(void)
{
    return xcalloc(1, sizeof(struct explorer));
}

void explorer_free(struct explorer *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->count; i++)
        schedule_release(&x->queue[i].schedule);
    free(x->queue);
    map_release(&x->tried);
    map_release(&x->prefixes);
    map_release(&x->classes);
    map_release(&x->values);
    free(x);
}

/* ---- the queue ---- */

bool explorer_knows(struct explorer *x, const struct rest *w, size_t end, uint64_t how)
{
    struct classifier c = { 0 };
    uint32_t *seen;
    uint64_t h;

    for (size_t k = 0; k < end; k++)
        if (w->kept[k])
            classifier_add(&c, w->e, &w->e->steps[k]);
    h = explore_mix(classifier_class(&c, w->e->done->nthreads), how);
    classifier_release(&c);
    seen = map_put(&x->prefixes, h, 0);
    return (*seen)++ > 0;
}

static int preemptions(const struct schedule *s)
{
    return (int)s->count;
}

void explorer_put(struct explorer *x, struct schedule *s, int score, uint64_t signature,
                  const char *why)
{
    struct candidate *c;

    if (x->count >= QUEUE_MOST || s->count >= EXPLORE_SEGMENTS_MAX) {
        schedule_release(s);
        x->left_out++;
        return;
    }
    GROW(x->queue, x->cap, x->count + 1);
    c = &x->queue[x->count++];
    *c = (struct candidate){
        .schedule = *s, .score = score + preemptions(s), .signature = signature, .order = x->order++
    };
    snprintf(c->why, sizeof(c->why), "%s", why);
}

bool explorer_next(struct explorer *x, struct schedule *s, const char **why)
{
    size_t best = SIZE_MAX;
    int best_score = 0;

    for (size_t i = 0; i < x->count; i++) {
        const struct candidate *c = &x->queue[i];
        uint32_t *n = map_get(&x->tried, c->signature);
        int score = c->score + 40 * (int)(n ? *n : 0);

        if (best == SIZE_MAX || score < best_score ||
            (score == best_score && c->order < x->queue[best].order)) {
            best = i;
            best_score = score;
        }
    }
    if (best == SIZE_MAX)
        return false;
    *s = x->queue[best].schedule;
    memcpy(x->why, x->queue[best].why, sizeof(x->why));
    ++*map_put(&x->tried, x->queue[best].signature, 0);
    x->queue[best] = x->queue[--x->count];
    *why = x->why;
    return true;
}

void explorer_counts(const struct explorer *x, uint64_t *classes, uint64_t *same, uint64_t *waiting)
{
    *classes = x->classes.count;
    *same = x->same;
    *waiting = x->count;
}

/* ---- sites that need no look ---- */

void explorer_quiet(const struct explored *e, uint64_t *quiet)
{
    struct map users = { 0 }; /* granule: 1 + thread; UINT32_MAX: several */
    uint64_t *shared = xcalloc(EXPLORE_QUIET_WORDS, sizeof(*shared));

    memset(quiet, 0, EXPLORE_QUIET_WORDS * sizeof(*quiet));
    for (int round = 0; round < 2; round++)
        for (size_t k = 0; k < e->nsteps; k++) {
            const struct explore_step *s = &e->steps[k];
            bool one_word = s->bytes <= EXPLORE_GRANULE;
            uint32_t *u = is_access(s)
                              ? map_put(&users, s->address / EXPLORE_GRANULE + 1, s->thread + 1u)
                              : NULL;

            if (!u || s->flags & EX_PLACE || s->where >= EXPLORE_QUIET_WORDS * 64)
                continue;
            if (*u != s->thread + 1u || !one_word)
                *u = UINT32_MAX;
            quiet[s->where / 64] |= UINT64_C(1) << (s->where % 64);
            if (round && *u == UINT32_MAX)
                shared[s->where / 64] |= UINT64_C(1) << (s->where % 64);
        }
    for (size_t i = 0; i < EXPLORE_QUIET_WORDS; i++)
        quiet[i] &= ~shared[i];
    free(shared);
    map_release(&users);
}
