/* prop_deadlock.c - deadlocks are exactly the sync-preserving ones */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "naive_deadlock.h"
#include "properties.h"
#include "text_trace.h"
#include "witness/witness.h"

enum { MAX_STATES = 300000 };

static uint64_t ring_of(const struct deadlock *d)
{
    uint64_t ring = 0;

    for (size_t i = 0; i < d->nwaits; i++)
        ring |= 1ull << d->waits[i].request.position;
    return ring;
}

static void show_ring(struct buf *why, uint64_t ring, const char *what)
{
    for (int i = 0; i < 64; i++)
        if (ring >> i & 1)
            buf_addf(why, "%d ", i);
    buf_addf(why, "%s", what);
}

/* Only a thread that holds a lock and requests another can take part. */
static bool has_requests(const struct subject *s)
{
    int held[64] = { 0 };

    for (size_t i = 0; i < s->mem.count; i++) {
        const struct event *e = &s->mem.events[i];

        if (e->thread >= 64 || e->flags & (EV_IGNORED | EV_NESTED))
            continue;
        if ((e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) && held[e->thread]++)
            return true;
        if (op_is_request(e->op) && held[e->thread])
            return true;
        if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED)
            held[e->thread]--;
    }
    return false;
}

/* What the exhaustive search finds, unless the trace is not for it. */
static bool search(const struct subject *s, bool keep_order, struct naive_deadlocks *out)
{
    *out = (struct naive_deadlocks){ .complete = true };
    if (s->mem.count > NAIVE_EVENTS || !s->exact)
        return false;
    if (has_requests(s))
        naive_deadlocks(&s->mem, keep_order, MAX_STATES, out);
    return out->complete;
}

static const struct deadlock_table *found_by_engine(const struct subject *s)
{
    return &subject_result(s, &engine_deadlock)->deadlocks;
}

/* ---- every event its own site ---- */

static enum verdict compare_rings(const struct deadlock_table *found,
                                  const struct naive_deadlocks *want, struct buf *why)
{
    uint64_t rings[256];

    for (size_t i = 0; i < found->count; i++) {
        if (i < 256)
            rings[i] = ring_of(&found->deadlocks[i]);
        if (naive_deadlocks_has(want, ring_of(&found->deadlocks[i])))
            continue;
        show_ring(why, ring_of(&found->deadlocks[i]), "is found but no sync-preserving deadlock");
        return VIOLATED;
    }
    for (size_t i = 0; i < want->count; i++) {
        size_t k = 0;

        while (k < found->count && k < 256 && rings[k] != want->rings[i])
            k++;
        if (k < found->count)
            continue;
        show_ring(why, want->rings[i], "is a sync-preserving deadlock and not found");
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict deadlocks_are_the_sync_preserving_ones(struct subject *s, struct buf *why)
{
    struct naive_deadlocks want;
    enum verdict v = DOES_NOT_APPLY;

    if (search(s, true, &want) && (want.count || found_by_engine(s)->count || has_requests(s)))
        v = compare_rings(found_by_engine(s), &want, why);
    naive_deadlocks_release(&want);
    return v;
}

static enum verdict deadlocks_can_happen(struct subject *s, struct buf *why)
{
    const struct deadlock_table *found = found_by_engine(s);
    struct naive_deadlocks all;
    enum verdict v = DOES_NOT_APPLY;

    if (found->count && search(s, false, &all)) {
        v = HOLDS;
        for (size_t i = 0; i < found->count && v == HOLDS; i++) {
            if (naive_deadlocks_has(&all, ring_of(&found->deadlocks[i])))
                continue;
            show_ring(why, ring_of(&found->deadlocks[i]), "is found but cannot happen");
            v = VIOLATED;
        }
        naive_deadlocks_release(&all);
    }
    return v;
}

/* ---- witnesses ---- */

/* Those in which all wait at the end have happened. */
static enum strength strength_of(const struct deadlock *d, const struct trace_mem *m)
{
    for (size_t i = 0; i < d->nwaits; i++)
        if (!op_is_request(m->events[d->waits[i].request.position].op))
            return STRENGTH_WITNESSED;
    return STRENGTH_CONFIRMED;
}

static enum verdict judge(const struct deadlock *d, const struct trace_mem *m,
                          const struct witness_trace *w, struct buf *why)
{
    struct error err = { "" };

    if (d->strength != strength_of(d, m) || d->nwitness < d->nwaits) {
        show_ring(why, ring_of(d), "has no witness");
        return VIOLATED;
    }
    for (size_t i = 0; i < d->nwaits; i++) {
        if (d->witness[d->nwitness - d->nwaits + i] == d->waits[i].request.position)
            continue;
        show_ring(why, ring_of(d), "has a witness that does not end with it");
        return VIOLATED;
    }
    if (witness_check_deadlock(w, d->witness, d->nwitness, d->nwaits, &err))
        return HOLDS;
    show_ring(why, ring_of(d), err.text);
    return VIOLATED;
}

static enum verdict deadlocks_have_witnesses(struct subject *s, struct buf *why)
{
    const struct deadlock_table *found = found_by_engine(s);
    struct witness_trace *w;
    enum verdict v = HOLDS;

    if (!found->count)
        return DOES_NOT_APPLY;
    w = witness_trace_new(&s->mem, s->info);
    for (size_t i = 0; i < found->count && v == HOLDS; i++)
        v = judge(&found->deadlocks[i], &s->mem, w, why);
    witness_trace_free(w);
    return v;
}

/* ---- few sites: a site stands for many events ---- */

void few_locations(const struct subject *s, unsigned locations, struct buf *out)
{
    const char *p = s->text.data, *end = s->text.data + s->text.len;

    for (uint32_t n = 0; p < end; n++) {
        const char *next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
        const char *bar = next;

        while (*--bar != '|')
            ;
        buf_add(out, p, (size_t)(bar - p));
        buf_addf(out, "|%u\n", (n * 2654435761u >> 20) % locations + 1);
        p = next;
    }
}

static uint32_t site_at(const struct trace_mem *m, size_t i)
{
    return m->events[i].site;
}

/* Where thread of request b took what request a wants; m->count: it has not got it. */
static size_t hold_of(const struct trace_mem *m, size_t a, size_t b)
{
    const struct event *x = &m->events[a];
    size_t since[2] = { m->count, m->count }; /* exclusive, shared */

    for (size_t i = 0; i < b; i++) {
        const struct event *e = &m->events[i];
        bool shared = e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;

        if (e->thread != m->events[b].thread || e->flags & (EV_IGNORED | EV_NESTED) ||
            op_class_of(e->op) != CLASS_LOCK || e->target != x->target)
            continue;
        if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
            since[shared] = i;
        else
            since[since[shared] < m->count ? shared : !shared] = m->count;
    }
    if (since[0] < m->count || x->op == OP_ACQUIRE_SHARED || x->op == OP_REQUEST_SHARED)
        return since[0];
    return since[1];
}

/* How many of each combination of two request and two hold sites: what a deadlock is about. */
static uint64_t sites_of_ring(const struct trace_mem *m, uint64_t ring, const uint32_t sites[2])
{
    uint64_t counts = 0;

    for (size_t b = 0; b < m->count; b++) {
        for (size_t a = 0; ring >> b & 1 && a < m->count; a++) {
            bool waits = ring >> a & 1 && (a != b || !(ring & (ring - 1)));
            size_t hold = waits ? hold_of(m, a, b) : m->count;

            if (hold < m->count)
                counts += 1ull << (16 * ((site_at(m, b) == sites[1]) * 2 +
                                         (site_at(m, hold) == sites[1])));
        }
    }
    return counts;
}

/* Each kind of deadlock is found once, and what stands for it is one. */
static enum verdict compare_kinds(const struct trace_mem *m, const struct deadlock_table *found,
                                  const struct naive_deadlocks *want, struct buf *why)
{
    uint32_t sites[2] = { m->events[0].site, SITE_NONE };
    uint64_t kinds[64];

    for (size_t i = 0; i < m->count; i++)
        sites[1] = m->events[i].site != sites[0] ? m->events[i].site : sites[1];
    for (size_t i = 0; i < found->count && i < 64; i++) {
        kinds[i] = sites_of_ring(m, ring_of(&found->deadlocks[i]), sites);
        for (size_t k = 0; k < i; k++)
            if (kinds[k] == kinds[i]) {
                show_ring(why, ring_of(&found->deadlocks[i]), "is found under sites known before");
                return VIOLATED;
            }
        if (!naive_deadlocks_has(want, ring_of(&found->deadlocks[i]))) {
            show_ring(why, ring_of(&found->deadlocks[i]), "is found but no deadlock");
            return VIOLATED;
        }
    }
    for (size_t i = 0; i < want->count; i++) {
        uint64_t kind = sites_of_ring(m, want->rings[i], sites);
        size_t k = 0;

        while (k < found->count && k < 64 && kinds[k] != kind)
            k++;
        if (k < found->count)
            continue;
        show_ring(why, want->rings[i], "has sites that are not reported");
        return VIOLATED;
    }
    return HOLDS;
}

static enum verdict deadlocks_of_all_sites_are_found(struct subject *s, struct buf *why)
{
    const struct engine *engine = &engine_deadlock;
    struct naive_deadlocks want;
    struct analysis a;
    struct buf text = { 0 };
    struct text_trace t = { 0 };
    struct error err;
    enum verdict v = DOES_NOT_APPLY;

    if (search(s, true, &want) && want.count) {
        few_locations(s, 2, &text);
        buf_addch(&text, 0);
        text_trace_open(&t, text.data);
        if (trace_rewind(t.trace, &err) || analysis_run(t.trace, &engine, 1, NULL, NULL, &a, &err))
            abort();
        v = compare_kinds(&t.mem, &a.runs[0].result.deadlocks, &want, why);
        analysis_release(&a);
        text_trace_close(&t);
        buf_release(&text);
    }
    naive_deadlocks_release(&want);
    return v;
}

/* ---- with other options ---- */

/* The same deadlocks; those behind the first `part` events (0: none is) have no witness. */
static enum verdict same_deadlocks(const struct deadlock_table *found,
                                   const struct deadlock_table *again, uint64_t part)
{
    if (found->count != again->count)
        return VIOLATED;
    for (size_t i = 0; i < found->count; i++) {
        const struct deadlock *d = &again->deadlocks[i];
        bool far = part && ring_of(d) >> part;

        if (ring_of(&found->deadlocks[i]) != ring_of(d) ||
            (d->witness != NULL) != (!far && found->deadlocks[i].witness))
            return VIOLATED;
    }
    return HOLDS;
}

static enum verdict compare_with(struct subject *s, const struct engine_options *options,
                                 struct buf *why)
{
    const struct deadlock_table *found = found_by_engine(s), *again;
    const struct engine *engine = &engine_deadlock;
    struct text_trace t = { 0 };
    struct analysis a;
    struct error err;
    enum verdict v;

    if (!has_requests(s))
        return DOES_NOT_APPLY;
    text_trace_open(&t, s->text.data);
    if (trace_rewind(t.trace, &err) || analysis_run(t.trace, &engine, 1, options, NULL, &a, &err))
        abort();
    again = &a.runs[0].result.deadlocks;
    v = same_deadlocks(found, again, options->part);
    if (v == VIOLATED)
        buf_addf(why, "%zu deadlocks, with other options %zu or others", found->count,
                 again->count);
    analysis_release(&a);
    text_trace_close(&t);
    return v;
}

/* Accesses are left out that do not matter. */
static enum verdict the_sieve_keeps_deadlocks(struct subject *s, struct buf *why)
{
    struct engine_options options = { .sieve = true };

    return compare_with(s, &options, why);
}

/* Few events are held in memory. */
static enum verdict long_traces_keep_deadlocks(struct subject *s, struct buf *why)
{
    struct engine_options options = { .part = 2 + s->mem.count % 13 };

    return s->exact && s->mem.count < 64 ? compare_with(s, &options, why) : DOES_NOT_APPLY;
}

const struct property properties_deadlock[] = {
    { "deadlocks-are-the-sync-preserving-ones", deadlocks_are_the_sync_preserving_ones, 1 },
    { "deadlocks-can-happen", deadlocks_can_happen, 1 },
    { "deadlocks-have-witnesses", deadlocks_have_witnesses, 1 },
    { "deadlocks-of-all-sites-are-found", deadlocks_of_all_sites_are_found, 1 },
    { "the-sieve-keeps-deadlocks", the_sieve_keeps_deadlocks, 1 },
    { "long-traces-keep-deadlocks", long_traces_keep_deadlocks, 2 },
    { NULL, NULL, 0 },
};
