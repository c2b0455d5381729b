/* prop_sshb.c - sshb against Definitions 6 and 11, and against traces recorded
 * out of order
 *
 * The last two properties take the trace as what happened, record it badly
 * (plain accesses swapped, releases late) and ask whether a race that is
 * `guaranteed` in the bad recording is one of what happened.
 */
#include "properties.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "naive_sshb.h"
#include "rng.h"
#include "text_trace.h"
#include "trace/text/event_text.h"

/* The races that sshb guarantees, as pairs of positions. Where synchronisation is exact they are
 * `observed` and independent. */
static void guaranteed_races(const struct race_table *races, size_t n, struct pair_set *out)
{
    pair_set_init(out, n);
    for (size_t i = 0; i < races->count; i++)
        if (races->races[i].independent)
            pair_set_add(out, races->races[i].first.position, races->races[i].second.position);
}

static void guaranteed_of(struct subject *s, struct pair_set *out)
{
    guaranteed_races(&subject_result(s, &engine_sshb)->races, s->mem.count, out);
}

static enum verdict sshb_races_are_those_of_hb(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_sshb);

    return both(subset(found, &s->hbp, "is found by sshb and not by Algorithm 3", why),
                subset(&s->hbp, found, "is found by Algorithm 3 and not by sshb", why));
}

/* Of the races found: the definition does not know which accesses are the last
 * ones. */
static void keep_races(struct pair_set *p, const struct race_table *races)
{
    struct pair_set kept;

    pair_set_init(&kept, p->has.n);
    for (size_t i = 0; i < races->count; i++) {
        uint64_t a = races->races[i].first.position, b = races->races[i].second.position;

        if (pair_set_has(p, a, b))
            pair_set_add(&kept, a, b);
    }
    pair_set_release(p);
    *p = kept;
}

static enum verdict compare_with_definition(const struct trace_mem *t,
                                            const struct race_table *races, struct buf *why)
{
    struct pair_set guaranteed, want;
    enum verdict v;

    guaranteed_races(races, t->count, &guaranteed);
    naive_guaranteed(t, &want);
    keep_races(&want, races);
    v = both(subset(&guaranteed, &want, "is guaranteed but joined by a path", why),
             subset(&want, &guaranteed, "is not guaranteed though no path joins it", why));
    pair_set_release(&guaranteed);
    pair_set_release(&want);
    return v;
}

static enum verdict guaranteed_is_the_definition(struct subject *s, struct buf *why)
{
    return compare_with_definition(&s->mem, &subject_result(s, &engine_sshb)->races, why);
}

static enum verdict guaranteed_races_are_predictable(struct subject *s, struct buf *why)
{
    struct pair_set guaranteed;
    enum verdict v;

    if (!s->exact || !s->oracle.complete)
        return DOES_NOT_APPLY;
    guaranteed_of(s, &guaranteed);
    v = subset(&guaranteed, &s->oracle.pairs, "is guaranteed but not predictable", why);
    pair_set_release(&guaranteed);
    return v;
}

/* Hidden races are among those that hb finds and shb does not. */
static enum verdict hidden_races_are_missed_by_shb(struct subject *s, struct buf *why)
{
    const struct engine_result *r = subject_result(s, &engine_sshb);
    size_t missed = 0;

    for (size_t a = 0; a < s->mem.count; a++)
        for (size_t b = a + 1; b < s->mem.count; b++)
            missed += pair_set_has(&s->hbp, a, b) && !pair_set_has(&s->shbp, a, b);
    for (size_t i = 0; i < r->ncounters; i++) {
        if (strcmp(r->counters[i].name, "hidden") != 0 || r->counters[i].value <= missed)
            continue;
        buf_addf(why, "%llu races are hidden, but shb misses %zu",
                 (unsigned long long)r->counters[i].value, missed);
        return VIOLATED;
    }
    return HOLDS;
}

/* ---- other traces ---- */

/* The engine by itself on a text. */
struct alone {
    struct trace *trace;
    struct trace_mem mem;
    struct analysis analysis;
};

static void run_alone(const struct buf *text, struct alone *a)
{
    const struct engine *engines[] = { &engine_sshb };
    struct error err = { "" };
    char path[256];

    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text->data, text->len);
    a->trace = trace_open(path, &err);
    unlink(path);
    if (!a->trace || analysis_run(a->trace, engines, 1, NULL, NULL, &a->analysis, &err) ||
        trace_rewind(a->trace, &err) || trace_load(a->trace, 1 << 16, &a->mem, &err))
        abort();
}

static void alone_release(struct alone *a)
{
    analysis_release(&a->analysis);
    trace_mem_release(&a->mem);
    trace_close(a->trace);
}

static struct rng rng_of(const struct subject *s)
{
    uint64_t seed = s->text.len;
    struct rng rng;

    for (size_t i = 0; i < s->text.len; i++)
        seed = seed * 31 + (unsigned char)s->text.data[i];
    rng_init(&rng, seed);
    return rng;
}

/* ---- many threads: clocks of several leaves, slots in several groups ---- */

enum { WIDE_THREADS = 80, WIDE_EVENTS = 110 };

static void wide_event(struct rng *rng, struct buf *text, uint32_t threads, uint32_t *owner,
                       uint32_t line)
{
    uint32_t t = rng_below(rng, threads), lock = rng_below(rng, 3);

    if (rng_percent(rng, 40)) {
        if (owner[lock] && owner[lock] != t + 1)
            return;
        buf_addf(text, "T%u|%s(l%u)|%u\n", t, owner[lock] ? "rel" : "acq", lock, line);
        owner[lock] = owner[lock] ? 0 : t + 1;
    } else {
        buf_addf(text, "T%u|%s(v%u)|%u\n", t, rng_percent(rng, 40) ? "w" : "r", rng_below(rng, 12),
                 line);
    }
}

static enum verdict many_threads_are_the_definition(struct subject *s, struct buf *why)
{
    struct rng rng = rng_of(s);
    uint32_t owner[3] = { 0 }, threads = rng_between(&rng, 9, WIDE_THREADS);
    struct buf text = { 0 };
    struct alone wide;
    enum verdict v;

    for (uint32_t t = 0; t < threads; t++) /* so that all have a slot */
        buf_addf(&text, "T%u|w(own%u)|%u\n", t, t, t);
    for (uint32_t i = 0; i < WIDE_EVENTS; i++)
        wide_event(&rng, &text, threads, owner, WIDE_THREADS + i);
    run_alone(&text, &wide);
    v = compare_with_definition(&wide.mem, &wide.analysis.runs[0].result.races, why);
    if (v == VIOLATED)
        buf_addf(why, " in\n%.*s", (int)text.len, text.data);
    alone_release(&wide);
    buf_release(&text);
    return v;
}

/* ---- bad recordings ---- */

/* The trace in another order: the i-th event recorded is event order[i]. */
struct recording {
    size_t *order, count;
};

static void recording_init(struct recording *r, const struct subject *s)
{
    r->count = s->mem.count;
    r->order = xcalloc(r->count + 1, sizeof(*r->order));
    for (size_t i = 0; i < r->count; i++)
        r->order[i] = i;
}

/* The races that sshb calls guaranteed, as positions of what happened. */
static void guaranteed_in(const struct subject *s, const struct recording *r, struct pair_set *out)
{
    struct buf text = { 0 };
    struct alone a;
    const struct race_table *races;

    for (size_t i = 0; i < r->count; i++)
        text_event(&text, &s->mem.events[r->order[i]], s->mem.extra, trace_tables(s->trace));
    run_alone(&text, &a);
    races = &a.analysis.runs[0].result.races;
    pair_set_init(out, r->count);
    for (size_t i = 0; i < races->count; i++)
        if (races->races[i].independent)
            pair_set_add(out, r->order[races->races[i].first.position],
                         r->order[races->races[i].second.position]);
    alone_release(&a);
    buf_release(&text);
}

/* Does what happened order a before b, but for b reading from a? */
static bool really_ordered(const struct subject *s, size_t a, size_t b)
{
    struct relation r;
    bool ordered;

    relation_init(&r, s->mem.count);
    naive_reads_from(&s->mem, &r);
    relation_remove(&r, a, b);
    naive_program_order(&s->mem, &r);
    naive_hard_edges(&s->mem, &r);
    naive_posts(&s->mem, &r);
    naive_lock_edges(&s->mem, &r);
    naive_lifetimes(&s->mem, &r);
    relation_close(&r);
    ordered = relation_has(&r, a, b);
    relation_release(&r);
    return ordered;
}

static enum verdict judge_recording(const struct subject *s, struct recording *r, const char *how,
                                    struct buf *why)
{
    struct pair_set guaranteed;
    enum verdict v = HOLDS;

    guaranteed_in(s, r, &guaranteed);
    for (size_t a = 0; a < r->count; a++) {
        for (size_t b = a + 1; b < r->count; b++) {
            if (v == VIOLATED || !pair_set_has(&guaranteed, a, b) || !really_ordered(s, a, b))
                continue;
            buf_addf(why, "(%zu, %zu) is ordered but guaranteed when %s, as", a, b, how);
            for (size_t i = 0; i < r->count; i++)
                buf_addf(why, " %zu", r->order[i]);
            v = VIOLATED;
        }
    }
    pair_set_release(&guaranteed);
    free(r->order);
    return v;
}

static const struct event *recorded(const struct subject *s, const struct recording *r, size_t i)
{
    return &s->mem.events[r->order[i]];
}

static void swap(struct recording *r, size_t i)
{
    size_t first = r->order[i];

    r->order[i] = r->order[i + 1];
    r->order[i + 1] = first;
}

static bool is_plain(const struct event *e)
{
    return e->op == OP_READ || e->op == OP_WRITE;
}

/* Plain accesses are recorded by clocks that may be wrong: neighbours may
 * change places. */
static enum verdict swapped_accesses_make_no_false_guarantee(struct subject *s, struct buf *why)
{
    struct rng rng = rng_of(s);
    struct recording r;
    bool swapped = false;

    recording_init(&r, s);
    for (size_t n = 0; n < 6 * r.count && r.count > 1; n++) {
        size_t i = rng_below(&rng, (uint32_t)r.count - 1);
        const struct event *a = recorded(s, &r, i), *b = recorded(s, &r, i + 1);

        if (a->thread == b->thread || !is_plain(a) || !is_plain(b))
            continue;
        swap(&r, i);
        swapped = true;
    }
    if (!swapped) {
        free(r.order);
        return DOES_NOT_APPLY;
    }
    return judge_recording(s, &r, "accesses are swapped", why);
}

/* May a release be recorded behind this event of another thread? */
static bool may_pass(const struct event *release, const struct event *e)
{
    return e->thread != release->thread &&
           !((e->op == OP_JOIN || e->op == OP_FORK) && e->target == release->thread);
}

static bool is_release(const struct event *e)
{
    return (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED) && !(e->flags & EV_IGNORED);
}

/* A recorder that notes releases after they happened: other threads' events get
 * in between. */
static enum verdict late_releases_make_no_false_guarantee(struct subject *s, struct buf *why)
{
    struct rng rng = rng_of(s);
    struct recording r;
    bool late = false;

    recording_init(&r, s);
    for (size_t i = r.count; i-- > 0;) {
        const struct event *e = recorded(s, &r, i);

        if (!is_release(e) || rng_percent(&rng, 25))
            continue;
        for (size_t k = i;
             k + 1 < r.count && may_pass(e, recorded(s, &r, k + 1)) && rng_percent(&rng, 90); k++) {
            swap(&r, k);
            late = true;
        }
    }
    if (!late) {
        free(r.order);
        return DOES_NOT_APPLY;
    }
    return judge_recording(s, &r, "releases are late", why);
}

/* ---- what follows from another race ---- */

static bool is_at(const struct event *e, const uint32_t sites[2])
{
    return e->site == sites[0] || e->site == sites[1];
}

/* The cause's accesses are atomic; a free cannot be. */
static void make_atomic(struct trace_mem *t, const uint32_t sites[2])
{
    for (size_t i = 0; i < t->count; i++) {
        struct event *e = &t->events[i];

        if (!op_is_access(e->op) || !is_at(e, sites))
            continue;
        if (e->op == OP_READ || e->op == OP_WRITE)
            e->op = e->op == OP_READ ? OP_LOAD : OP_STORE;
        e->order = ORDER_SEQ_CST;
    }
}

static bool has_free(const struct trace_mem *t, const uint32_t sites[2])
{
    for (size_t i = 0; i < t->count; i++)
        if (t->events[i].op == OP_FREE && is_at(&t->events[i], sites))
            return true;
    return false;
}

/* With that no pair that raced at the sites of the race does so any more. (Others may be met: an
 * atomic access does not take the place of a plain one before it.) */
static enum verdict judge_cause(const struct alone *a, const struct race *r, struct buf *why)
{
    uint32_t sites[2] = { r->first.site, r->second.site };
    struct trace_mem changed = a->mem;
    struct pair_set before, races;
    enum verdict v = HOLDS;

    naive_hbp(&a->mem, &before);
    changed.events = xcalloc(a->mem.count + 1, sizeof(*changed.events));
    memcpy(changed.events, a->mem.events, a->mem.count * sizeof(*changed.events));
    make_atomic(&changed, r->cause);
    naive_hbp(&changed, &races);
    for (size_t x = 0; x < changed.count && v == HOLDS; x++)
        for (size_t y = x + 1; y < changed.count && v == HOLDS; y++)
            if (pair_set_has(&races, x, y) && pair_set_has(&before, x, y) &&
                site_pair(changed.events[x].site, changed.events[y].site) ==
                    site_pair(sites[0], sites[1])) {
                buf_addf(why, "(%zu, %zu) is unordered also if the sites of %u and %u are atomic",
                         x, y, r->cause[0], r->cause[1]);
                v = VIOLATED;
            }
    pair_set_release(&before);
    pair_set_release(&races);
    free(changed.events);
    return v;
}

static enum verdict without_its_cause_a_race_is_ordered(struct subject *s, struct buf *why)
{
    struct buf text = { 0 };
    struct rng rng = rng_of(s);
    struct alone a;
    enum verdict v = DOES_NOT_APPLY;

    few_locations(s, rng_percent(&rng, 50) ? 8 : 1000, &text);
    run_alone(&text, &a);
    for (size_t i = 0; i < a.analysis.runs[0].result.races.count && v != VIOLATED; i++) {
        const struct race *r = &a.analysis.runs[0].result.races.races[i];

        if (r->follows == FOLLOWS_SURELY && !has_free(&a.mem, r->cause))
            v = judge_cause(&a, r, why);
    }
    alone_release(&a);
    buf_release(&text);
    return v;
}

const struct property properties_sshb[] = {
    { "sshb-races-are-those-of-hb", sshb_races_are_those_of_hb, 1 },
    { "guaranteed-is-the-definition", guaranteed_is_the_definition, 1 },
    { "guaranteed-races-are-predictable", guaranteed_races_are_predictable, 1 },
    { "hidden-races-are-missed-by-shb", hidden_races_are_missed_by_shb, 1 },
    { "without-its-cause-a-race-is-ordered", without_its_cause_a_race_is_ordered, 1 },
    { "many-threads-are-the-definition", many_threads_are_the_definition, 100 },
    { "swapped-accesses-make-no-false-guarantee", swapped_accesses_make_no_false_guarantee, 1 },
    { "late-releases-make-no-false-guarantee", late_releases_make_no_false_guarantee, 1 },
    { NULL, NULL, 0 },
};
