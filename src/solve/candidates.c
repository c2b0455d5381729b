/* candidates.c - which writers a read can still see, and what that means
 *
 * Of the writes of one thread that must come before the read only the last
 * can be seen, and not even that where another write must come in between.
 * Later ones of the thread can be, up to the first that must come after the
 * read or cannot be executed at all. Rows grow along a thread, so the first
 * of a thread's candidates says what all of them need: the cost of a read is
 * a few steps per thread that writes its cell, however many writes there are.
 */
#include "solve/must.h"

#include <string.h>

/* Writes of a thread to look at for one of the right value; what the next one needs is then what
 * all later ones need at least. */
enum { LOOK_AHEAD = 32 };

uint32_t group_writes_before(const struct problem *p, const struct problem_group *g, uint32_t rank)
{
    uint32_t low = 0, high = g->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->rank[p->touches[p->group_touch[g->first + middle]].node] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t group_acquires_before(const struct problem *p, const struct problem_group *g,
                               uint32_t rank)
{
    uint32_t low = 0, high = g->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->rank[p->sections[p->group_section[g->first + middle]].acquire] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t group_excluding(const struct problem *p, const struct problem_group *g, uint32_t rank,
                         const struct problem_section *s)
{
    for (uint32_t k = group_acquires_before(p, g, rank); k > 0; k--) {
        uint32_t section = p->group_section[g->first + k - 1];

        if (!(s->shared && p->sections[section].shared))
            return section;
    }
    return SOLVE_NONE;
}

/* ---- one writer ---- */

/* Must the read come before this writer, or can it never be executed? */
static bool is_too_late(const struct rows *r, uint32_t reader, uint32_t writer)
{
    const struct problem *p = r->p;
    const uint32_t *row = rows_of(r, writer);

    if (row[p->thread[reader]] > p->rank[reader])
        return true;
    if (r->possible && p->rank[writer] >= r->possible[p->thread[writer]])
        return true;
    for (uint32_t t = 0; r->possible && t < p->nthreads; t++)
        if (row[t] > r->possible[t])
            return true;
    return false;
}

/* The group's last write before the read, by must; SOLVE_NONE. */
static uint32_t last_before(const struct problem *p, const struct problem_group *g,
                            const uint32_t *row)
{
    uint32_t n = row[g->thread] ? group_writes_before(p, g, row[g->thread]) : 0;

    return n ? p->group_touch[g->first + n - 1] : SOLVE_NONE;
}

/* Must another write that comes before the read come after this one? */
static bool is_covered(const struct rows *r, uint32_t cell, const uint32_t *row, uint32_t writer)
{
    const struct problem *p = r->p;
    uint32_t node = p->touches[writer].node, thread = p->thread[node];

    for (uint32_t i = p->cell_group_first[cell]; i < p->cell_group_first[cell + 1]; i++) {
        uint32_t other;

        if (p->cell_groups[i].thread == thread)
            continue;
        other = last_before(p, &p->cell_groups[i], row);
        if (other != SOLVE_NONE && rows_of(r, p->touches[other].node)[thread] > p->rank[node])
            return true;
    }
    return false;
}

bool candidates_allow(const struct rows *r, uint32_t touch, const uint32_t *row, uint32_t writer)
{
    const struct problem *p = r->p;
    const struct problem_touch *t = &p->touches[touch];
    uint32_t node = p->touches[writer].node;

    if (p->rank[node] >= row[p->thread[node]])
        return p->thread[node] != p->thread[t->node] && !is_too_late(r, t->node, node);
    for (uint32_t i = p->cell_group_first[t->cell]; i < p->cell_group_first[t->cell + 1]; i++)
        if (p->cell_groups[i].thread == p->thread[node] &&
            last_before(p, &p->cell_groups[i], row) != writer)
            return false;
    return !is_covered(r, t->cell, row, writer);
}

/* ---- all writers ---- */

struct finding {
    const struct rows *r;
    const uint32_t *row; /* of the read */
    uint32_t *meet;
    uint32_t touch;
    bool some; /* meet holds something */
    struct candidates found;
};

static void lower_meet(struct finding *f, uint32_t node)
{
    const struct problem *p = f->r->p;
    const uint32_t *row = rows_of(f->r, node);

    for (uint32_t t = 0; t < p->nthreads; t++) {
        uint32_t need = t == p->thread[node] ? p->rank[node] + 1 : row[t];

        if (!f->some || need < f->meet[t])
            f->meet[t] = need;
    }
    f->some = true;
}

static void candidates_take(struct finding *f, uint32_t writer)
{
    if (f->found.count < 2)
        f->found.count++;
    f->found.writer = writer;
}

/* The writes of a thread that need not come before the read. */
static void look_ahead(struct finding *f, const struct problem_group *g, uint32_t from, bool first)
{
    const struct problem *p = f->r->p;
    const struct problem_touch *t = &p->touches[f->touch];
    uint32_t to = g->count - from > LOOK_AHEAD ? from + LOOK_AHEAD : g->count;

    for (uint32_t k = from; k < g->count; k++) {
        uint32_t w = p->group_touch[g->first + k], node = p->touches[w].node;

        if (k < to && !problem_allows(p, t, w))
            continue;
        if (is_too_late(f->r, t->node, node))
            return;
        candidates_take(f, w);
        if (k == to)
            f->found.count = 2; /* perhaps one of those behind */
        if (first)
            lower_meet(f, node);
        first = false;
        if (f->found.count > 1)
            return;
    }
}

static void visit_group(struct finding *f, const struct problem_group *g)
{
    const struct problem *p = f->r->p;
    const struct problem_touch *t = &p->touches[f->touch];
    uint32_t before = f->row[g->thread] ? group_writes_before(p, g, f->row[g->thread]) : 0;
    bool first = true;

    if (before) {
        uint32_t w = p->group_touch[g->first + before - 1];

        if (problem_allows(p, t, w) && !is_covered(f->r, t->cell, f->row, w)) {
            candidates_take(f, w);
            lower_meet(f, p->touches[w].node);
            first = false;
        }
    }
    if (g->thread != p->thread[t->node] && (first || f->found.count < 2))
        look_ahead(f, g, before, first);
}

static bool some_before(const struct problem *p, uint32_t cell, const uint32_t *row)
{
    for (uint32_t i = p->cell_group_first[cell]; i < p->cell_group_first[cell + 1]; i++)
        if (last_before(p, &p->cell_groups[i], row) != SOLVE_NONE)
            return true;
    return false;
}

/* Does what was found so far say more than what is known? */
static bool says_more(const struct finding *f)
{
    for (uint32_t t = 0; t < f->r->p->nthreads; t++)
        if (f->meet[t] > f->row[t])
            return true;
    return false;
}

struct candidates candidates_find(const struct rows *r, uint32_t touch, const uint32_t *row,
                                  uint32_t *meet)
{
    const struct problem *p = r->p;
    uint32_t cell = p->touches[touch].cell;
    struct finding f = { .r = r, .row = row, .meet = meet, .touch = touch };

    if (problem_allows(p, &p->touches[touch], SOLVE_NONE) && !some_before(p, cell, row)) {
        candidates_take(&f, SOLVE_NONE);
        memset(meet, 0, p->nthreads * sizeof(*meet));
        f.some = true;
    }
    for (uint32_t i = p->cell_group_first[cell]; i < p->cell_group_first[cell + 1]; i++) {
        visit_group(&f, &p->cell_groups[i]);
        if (f.found.count > 1 && f.some && !says_more(&f))
            return f.found;
    }
    f.found.gains = f.some && says_more(&f);
    return f.found;
}
