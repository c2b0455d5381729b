/* recipe_double.c - pairs of new accesses of two paths; see recipe_pairs.h
 *
 * New accesses by the word they touch; of a site in a thread the few that are nearest to their
 * branches, of different paths. All that conflict are put together, and of each pair of sites the
 * nearest are kept.
 */
#include "engines/values/recipe_pairs.h"
#include "base/alloc.h"
#include "engines/race.h"

#include <stdlib.h>
#include <string.h>

/* Of one site, thread and word; of one word; all. What is left out is counted. */
enum { SAME_MAX = 10, WORD_MAX = 512, ALL_MAX = 1 << 22 };

struct new_access {
    uint64_t word;
    uint32_t site, thread, event, path;
    bool doubtful; /* it was not reached yet */
};

struct finder {
    const struct access_index *x;
    struct new_access *list;
    size_t count, cap;
    struct double_candidates *out;
    bool (*is_settled)(const void *arg, uint64_t pair);
    const void *arg;
};

/* ---- accesses ---- */

static void recipe_double_add_path(struct finder *f, uint32_t path, struct path_reach reach)
{
    const struct flip_path *p = flips_get(f->x->flips, path);

    for (uint32_t i = 0; i < p->nevents && i < reach.bad; i++) {
        const struct event *e = &p->events[i].event;
        uint64_t last = (e->target + e->size - 1) / 8;

        if (!op_is_access(e->op) || !e->size)
            continue;
        for (uint64_t w = e->target / 8; w <= last && w - e->target / 8 < 8; w++) {
            GROW(f->list, f->cap, f->count + 1);
            f->list[f->count++] =
                (struct new_access){ w, e->site, p->thread, i, path, i >= reach.good };
        }
    }
}

#define COMPARE(a, b)                                                                              \
    do {                                                                                           \
        if ((a) != (b))                                                                            \
            return (a) < (b) ? -1 : 1;                                                             \
    } while (0)

static int by_word(const void *a, const void *b)
{
    const struct new_access *x = a, *y = b;

    COMPARE(x->word, y->word);
    COMPARE(x->site, y->site);
    COMPARE(x->thread, y->thread);
    COMPARE(x->doubtful, y->doubtful);
    COMPARE(x->event, y->event);
    COMPARE(x->path, y->path);
    return 0;
}

static bool is_alike(const struct new_access *a, const struct new_access *b)
{
    return a->word == b->word && a->site == b->site && a->thread == b->thread;
}

/* Of those alike the nearest SAME_MAX. */
static void thin_out(struct finder *f)
{
    size_t n = 0, same = 0;

    for (size_t i = 0; i < f->count; i++) {
        same = i && is_alike(&f->list[i], &f->list[i - 1]) ? same + 1 : 0;
        if (same < SAME_MAX)
            f->list[n++] = f->list[i];
        else
            f->out->cut++;
    }
    f->count = n;
}

/* ---- pairs ---- */

static void add_pair(struct finder *f, const struct new_access *a, const struct new_access *b)
{
    struct double_candidates *d = f->out;
    uint64_t pair = site_pair(a->site, b->site);
    uint32_t doubts = (uint32_t)a->doubtful + b->doubtful;
    struct suspect x = suspect_new(f->x, a->path, a->event);
    struct suspect y = suspect_new(f->x, b->path, b->event);

    if (!suspects_may_meet(f->x, &x, &y) || f->is_settled(f->arg, pair))
        return;
    if (d->count >= ALL_MAX) {
        d->cut++;
        return;
    }
    GROW(d->list, d->cap, d->count + 1);
    d->list[d->count++] =
        a->path < b->path
            ? (struct double_candidate){ pair, a->path, a->event, b->path, b->event, doubts }
            : (struct double_candidate){ pair, b->path, b->event, a->path, a->event, doubts };
}

static void pair_up(struct finder *f)
{
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = i + 1; k < f->count && f->list[k].word == f->list[i].word; k++) {
            if (k - i > WORD_MAX) {
                f->out->cut++;
                break;
            }
            add_pair(f, &f->list[i], &f->list[k]);
        }
}

static int by_distance(const void *a, const void *b)
{
    const struct double_candidate *x = a, *y = b;

    COMPARE(x->pair, y->pair);
    COMPARE(x->doubts, y->doubts);
    COMPARE(x->event + x->other_event, y->event + y->other_event);
    COMPARE(x->path, y->path);
    COMPARE(x->other, y->other);
    COMPARE(x->event, y->event);
    return 0;
}

static int by_paths(const void *a, const void *b)
{
    const struct double_candidate *x = a, *y = b;

    COMPARE(x->path, y->path);
    COMPARE(x->other, y->other);
    COMPARE(x->pair, y->pair);
    COMPARE(x->event, y->event);
    COMPARE(x->other_event, y->other_event);
    return 0;
}

static void keep_nearest(struct double_candidates *d, size_t most)
{
    size_t n = 0, same = 0;

    for (size_t i = 0; i < d->count; i++) {
        same = i && d->list[i].pair == d->list[i - 1].pair ? same + 1 : 0;
        if (same < most)
            d->list[n++] = d->list[i];
        else
            d->cut++;
    }
    d->count = n;
}

void double_candidates_find(struct double_candidates *d, const struct access_index *x,
                            const struct path_reach *reach, size_t most,
                            bool (*is_settled)(const void *arg, uint64_t pair), const void *arg)
{
    struct finder f = { .x = x, .out = d, .is_settled = is_settled, .arg = arg };

    *d = (struct double_candidates){ 0 };
    for (size_t i = 0; i < flips_count(x->flips); i++)
        recipe_double_add_path(&f, (uint32_t)i, reach[i]);
    if (f.count > 1)
        qsort(f.list, f.count, sizeof(*f.list), by_word);
    thin_out(&f);
    pair_up(&f);
    if (d->count > 1)
        qsort(d->list, d->count, sizeof(*d->list), by_distance);
    keep_nearest(d, most);
    if (d->count > 1)
        qsort(d->list, d->count, sizeof(*d->list), by_paths);
    free(f.list);
}
