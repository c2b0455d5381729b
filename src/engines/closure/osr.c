/* osr.c - optimistic sync-reversal races
 *
 * Shi, Mathur and Pavlogiannis, "Optimistic Prediction of Synchronization-
 * Reversal Data Races", ICSE 2024. Like syncp, but sections on a lock may
 * change places: for two accesses take the least set of events that both need
 * when every other section that gets in the way is closed (osr_set.c), and see
 * whether these can be put in order (osr_order.c). If so the order is the
 * schedule, and the independent checker confirms it.
 *
 * Differences from the paper: shared sections, atomics, hard edges and
 * lifetimes as in docs/design/proof.md; a section that neither access is inside
 * of may stay open where it is the last on its lock, as in syncp, so everything
 * that syncp finds is found; the graph only has the events that do not keep
 * the order of the trace; and where keeping the order of the trace leads to a
 * cycle, a greedy order is tried that lets writes nobody reads change places.
 *
 * Limits: a bounded number of instances of a pair of sites is tried
 * (osr_search.c); reversals need the events in memory (whole_limit()).
 */
#include "engines/closure/osr.h"
#include "engines/effort.h"
#include "engines/whole.h"
#include "engines/whole_show.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct osr {
    struct engine_result *result;
    struct suspicion *suspicion; /* NULL after finish */
    struct suspects suspects;
    uint64_t limit; /* positions beyond are not in memory */
};

static void *osr_open(struct engine_result *result, const struct engine_options *options)
{
    struct osr *s = xcalloc(1, sizeof(*s));

    (void)options;
    s->result = result;
    s->suspicion = suspicion_new();
    return s;
}

static void osr_steps(void *state, const struct span *span)
{
    suspicion_steps(((struct osr *)state)->suspicion, span);
}

static void end_pass(struct osr *s)
{
    suspicion_free(s->suspicion);
    s->suspicion = NULL;
    engine_count(s->result, "accesses", s->suspects.accesses);
    engine_count(s->result, "suspect_variables", s->suspects.count);
}

static void osr_finish(void *state)
{
    struct osr *s = state;

    s->suspects = suspicion_finish(s->suspicion);
    end_pass(s);
}

/* The suspects are syncp's. */
static void osr_inherit(void *state, const void *syncp)
{
    struct osr *s = state;
    size_t bytes;

    s->suspects = *syncp_suspects(syncp);
    bytes = s->suspects.words_cap * sizeof(*s->suspects.bits);
    if (bytes)
        s->suspects.bits = memcpy(xmalloc(bytes), s->suspects.bits, bytes);
    end_pass(s);
}

static void osr_close(void *state)
{
    struct osr *s = state;

    suspicion_free(s->suspicion);
    free(s->suspects.bits);
    free(s);
}

/* ---- schedules ---- */

/* The same closure and order as when the race was found; NULL: there is no room for it. */
static uint64_t *make_schedule(const struct osr_find *f, struct osr_set *x, struct osr_order *o,
                               struct whole *w, size_t *n)
{
    uint64_t cost = 0, *list = NULL;

    if (whole_has_room(w) && osr_set_close(x, &f->a.past, &f->b.past) &&
        (!x->reversed || osr_order_find(o, x, &cost)))
        list = osr_order_list(o, x, &f->a.past, &f->b.past, n);
    if (!list)
        whole_skip(w);
    return list;
}

static void show_races(struct osr *s, const struct collection *c, const struct view *v,
                       const struct osr_result *found, struct whole *w)
{
    struct osr_order *o = v ? osr_order_new(v) : NULL;
    struct osr_set x;
    struct error why;

    osr_set_init(&x, c->closure, w);
    for (size_t i = 0; i < found->count; i++) {
        const struct osr_find *f = &found->finds[i];
        struct race *r = race_table_find(&s->result->races, f->a.site, f->b.site);
        uint64_t *list;
        size_t n;

        if (f->b.past.position >= s->limit)
            continue; /* its turn comes later (long.h) */
        if (!r || whole_stop(w, 0.9 + 0.1 * (double)i / (double)found->count)) {
            whole_skip(w);
            continue;
        }
        list = make_schedule(f, &x, o, w, &n);
        if (list)
            whole_show(w, r, list, n, &why);
    }
    osr_set_release(&x);
    osr_order_free(o);
}

/* ---- deciding ---- */

static void osr_report(struct osr *s, const struct collection *c, const struct osr_result *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct osr_find *f = &found->finds[i];

        race_table_add(&s->result->races, (struct access){ f->a.past.position, f->a.site },
                       (struct access){ f->b.past.position, f->b.site }, STRENGTH_MAYBE);
    }
    engine_count(s->result, "sections", closure_sections(c->closure));
    engine_count(s->result, "closures", found->tries);
    engine_count(s->result, "orders", found->orders);
    engine_count(s->result, "order_events", found->order_events);
    engine_count(s->result, "reversals", found->reversals);
    engine_leave(s->result, "lists_undecided", found->undecided);
}

/* The view takes more memory than all else, and most traces have no section to reverse: it is made
 * when the search has met one. */
static int search_in_osr(const struct collection *c, const struct view **v, struct whole *w,
                         struct osr_result *found, struct error *err)
{
    osr_search(c, NULL, w, found);
    if (!found->unviewed || whole_poll(w)) {
        found->undecided += found->unviewed;
        return 0;
    }
    free(found->finds);
    *found = (struct osr_result){ 0 };
    *v = whole_view(w, err);
    if (!*v)
        return -1;
    osr_search(c, *v, w, found);
    return 0;
}

static int predict(struct osr *s, const struct collection *c, struct whole *w, struct error *err)
{
    struct osr_result found;
    const struct view *v = NULL;
    int r = search_in_osr(c, &v, w, &found, err);

    if (r == 0)
        osr_report(s, c, &found);
    if (r == 0 && found.count && whole_can_show(w)) {
        if (whole_events(w, err))
            show_races(s, c, v, &found, w);
        else
            r = -1;
    }
    free(found.finds);
    return r;
}

static int osr_decide(void *state, struct whole *w, struct error *err)
{
    struct osr *s = state;
    struct collection c;
    int r;

    if (!s->suspects.count)
        return 0;
    s->limit = whole_limit(w);
    r = collection_make(&c, &s->suspects, OSR_KEPT, w, err);
    if (r == 0 && c.count)
        r = predict(s, &c, w, err);
    collection_release(&c);
    engine_leave(s->result, "stopped", r > 0 && !whole_was_interrupted(w));
    return r < 0 ? -1 : 0;
}

const struct engine engine_osr = {
    .name = "osr",
    .summary = "races of reorderings that may also swap critical sections",
    .proves = STRENGTH_MAYBE,
    .predicts = true,
    .follows = &engine_syncp,
    .inherit = osr_inherit,
    .open = osr_open,
    .steps = osr_steps,
    .finish = osr_finish,
    .decide = osr_decide,
    .close = osr_close,
};
