/* properties.c - reading, the engines of the observed order, the oracle and the witness checker
 *
 * Where a relation needs more than an exact trace, the property says why and
 * does not apply to the others; prop_main.c counts how often that happens.
 */
#include "properties.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text_trace.h"
#include "trace/hdl/hdl.h"
#include "trace/text/event_text.h"
#include "witness/witness.h"

enum verdict subset(const struct pair_set *a, const struct pair_set *b, const char *what,
                    struct buf *why)
{
    size_t x, y;

    if (!pair_set_minus(a, b, &x, &y))
        return HOLDS;
    buf_addf(why, "(%zu, %zu) %s", x, y, what);
    return VIOLATED;
}

enum verdict both(enum verdict a, enum verdict b)
{
    return a == HOLDS ? b : a;
}

/* ---- reading ---- */

static enum verdict text_comes_back_unchanged(struct subject *s, struct buf *why)
{
    struct buf again = { 0 };
    enum verdict v = HOLDS;

    for (size_t i = 0; i < s->mem.count; i++)
        text_event(&again, &s->mem.events[i], s->mem.extra, trace_tables(s->trace));
    if (again.len != s->text.len || memcmp(again.data, s->text.data, again.len)) {
        buf_addf(why, "read and printed again it is\n%s", again.len ? again.data : "");
        v = VIOLATED;
    }
    buf_release(&again);
    return v;
}

static enum verdict nothing_had_to_be_repaired(struct subject *s, struct buf *why)
{
    const struct diags *d = trace_diags(s->trace);

    if (!diags_repaired(d))
        return HOLDS;
    for (size_t i = 0; i < d->count; i++)
        buf_addf(why, "%s%s", i ? "; " : "", d->list[i].text);
    return VIOLATED;
}

/* ---- engines against the transcriptions ---- */

static enum verdict hb_is_algorithm_3(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_hb);

    return both(subset(found, &s->hbp, "is found by hb and not by Algorithm 3", why),
                subset(&s->hbp, found, "is found by Algorithm 3 and not by hb", why));
}

static enum verdict shb_is_algorithm_4(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_shb);

    return both(subset(found, &s->shbp, "is found by shb and not by Algorithm 4", why),
                subset(&s->shbp, found, "is found by Algorithm 4 and not by shb", why));
}

static enum verdict lockset_is_every_pair_without_a_common_lock(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_lockset);

    return both(subset(found, &s->locks, "is found by lockset but has a common lock", why),
                subset(&s->locks, found, "has no common lock and is not found by lockset", why));
}

static enum verdict hb_races_are_unordered(struct subject *s, struct buf *why)
{
    return subset(subject_found(s, &engine_hb), &s->hb_unordered, "is a race of hb but ordered",
                  why);
}

static enum verdict shb_races_are_unordered_by_hb(struct subject *s, struct buf *why)
{
    return subset(subject_found(s, &engine_shb), &s->hb_unordered,
                  "is a race of shb but ordered by hb", why);
}

static enum verdict fasttrack_races_are_unordered(struct subject *s, struct buf *why)
{
    return subset(subject_found(s, &engine_fasttrack), &s->hb_unordered,
                  "is a race of fasttrack but ordered by hb", why);
}

/* ---- fasttrack names every racy variable ---- */

static uint64_t bytes_of(const struct event *e)
{
    return op_is_access(e->op) ? e->size : e->value;
}

/* Do the two meet at this byte, in one lifetime? */
static bool meet_at(const struct subject *s, size_t a, size_t b, uint64_t byte)
{
    const struct event *x = &s->mem.events[a], *y = &s->mem.events[b];

    if (byte - x->target >= bytes_of(x) || byte < y->target || byte - y->target >= bytes_of(y))
        return false;
    for (size_t i = a + 1; i < b; i++) {
        const struct event *e = &s->mem.events[i];

        if (e->op == OP_ALLOC && !(e->flags & EV_IGNORED) && byte >= e->target &&
            byte - e->target < e->value)
            return false;
    }
    return true;
}

/* Has fasttrack a pair at this byte, in the lifetime that event b belongs to? */
static bool names_byte(const struct subject *s, size_t b, uint64_t byte)
{
    for (size_t x = 0; x < s->mem.count; x++)
        for (size_t y = x + 1; y < s->mem.count; y++)
            if (pair_set_has(subject_found(s, &engine_fasttrack), x, y) &&
                byte >= s->mem.events[x].target && meet_at(s, x, y, byte) &&
                (y < b ? meet_at(s, y, b, byte) : y == b || meet_at(s, b, y, byte)))
                return true;
    return false;
}

static enum verdict fasttrack_names_every_racy_variable(struct subject *s, struct buf *why)
{
    for (size_t a = 0; a < s->mem.count; a++) {
        for (size_t b = a + 1; b < s->mem.count; b++) {
            const struct event *x = &s->mem.events[a];

            if (!pair_set_has(&s->hb_unordered, a, b))
                continue;
            for (uint64_t byte = x->target; byte < x->target + bytes_of(x); byte++) {
                if (!meet_at(s, a, b, byte) || names_byte(s, b, byte))
                    continue;
                buf_addf(why, "(%zu, %zu) is a race at 0x%llx where fasttrack has none", a, b,
                         (unsigned long long)byte);
                return VIOLATED;
            }
        }
    }
    return HOLDS;
}

/* ---- prediction ---- */

static enum verdict shb_races_are_predictable(struct subject *s, struct buf *why)
{
    if (!s->exact || !s->oracle.complete)
        return DOES_NOT_APPLY;
    return subset(subject_found(s, &engine_shb), &s->oracle.pairs,
                  "is a race of shb but not predictable", why);
}

static bool in_past(const struct subject *s, size_t x, size_t a, size_t b)
{
    return relation_has(&s->hb, x, a) || relation_has(&s->hb, x, b);
}

/* Is all that a relation puts before event y in the past of a and b in HB? */
static bool past_has_all(const struct subject *s, const struct relation *r, size_t y, size_t a,
                         size_t b)
{
    for (size_t x = 0; x < y; x++)
        if (relation_has(r, x, y) && !in_past(s, x, a, b))
            return false;
    return true;
}

/* What happened before a and b in HB, in the order of the trace, is the witness of a first
 * race; two things that no race tells of can be missing in it. The alloc of memory that it
 * uses: the address of a block reaches another thread through memory, but in a random trace
 * it need not. And what an atomic load read: two atomics do not race. */
static bool past_is_complete(const struct subject *s, size_t a, size_t b)
{
    struct relation from;
    bool complete;

    relation_init(&from, s->mem.count);
    naive_reads_from(&s->mem, &from);
    for (size_t x = 0; x < s->mem.count; x++)
        for (size_t y = x + 1; y < s->mem.count; y++)
            if (!op_is_atomic(s->mem.events[x].op) || !op_is_atomic(s->mem.events[y].op))
                relation_remove(&from, x, y);
    complete = past_has_all(s, &s->must, a, a, b) && past_has_all(s, &s->must, b, a, b);
    for (size_t y = 0; y < b && complete; y++)
        if (in_past(s, y, a, b))
            complete = past_has_all(s, &s->must, y, a, b) && past_has_all(s, &from, y, a, b);
    relation_release(&from);
    return complete;
}

static enum verdict the_first_hb_race_is_predictable(struct subject *s, struct buf *why)
{
    const struct pair_set *found = subject_found(s, &engine_hb);
    enum verdict v = DOES_NOT_APPLY;

    if (!s->exact || !s->oracle.complete)
        return v;
    for (size_t b = 0; b < s->mem.count; b++) {
        bool first = false;

        for (size_t a = 0; a < b && v != VIOLATED; a++) {
            first |= pair_set_has(found, a, b);
            if (!pair_set_has(found, a, b) || !past_is_complete(s, a, b))
                continue;
            v = HOLDS;
            if (pair_set_has(&s->oracle.pairs, a, b))
                continue;
            buf_addf(why, "(%zu, %zu) is the first race of hb but not predictable", a, b);
            v = VIOLATED;
        }
        if (first)
            return v;
    }
    return v;
}

/* Two threads inside sections of one lock are never both next, so this holds in every mode. */
static enum verdict predictable_races_have_no_common_lock(struct subject *s, struct buf *why)
{
    return subset(&s->oracle.pairs, subject_found(s, &engine_lockset),
                  "is predictable but not found by lockset", why);
}

/* Knowing more about a trace can only make more races predictable. */
static enum verdict knowledge_adds_races(struct subject *s, struct buf *why)
{
    struct trace_info writers = *s->info, values = *s->info;
    struct oracle by_writer, by_value;
    enum verdict v = DOES_NOT_APPLY;

    writers.values = writers.branches = values.branches = false;
    if (s->info->branches) /* with these marks do not count */
        writers.loose = values.loose = false;
    if (!s->exact || (!s->info->values && !s->info->branches))
        return v;
    oracle_run(&s->mem, &writers, 1000000, &by_writer);
    oracle_run(&s->mem, &values, 1000000, &by_value);
    if (by_writer.complete && by_value.complete && s->oracle.complete)
        v = both(subset(&by_writer.pairs, &by_value.pairs, "is lost when values count", why),
                 subset(&by_value.pairs, &s->oracle.pairs, "is lost when branches count", why));
    oracle_release(&by_writer);
    oracle_release(&by_value);
    return v;
}

static enum verdict are_accepted(const struct subject *s, const struct oracle *o, struct buf *why)
{
    struct witness_trace *w = witness_trace_new(&s->mem, s->info);
    struct error err = { "" };
    enum verdict v = HOLDS;

    for (size_t i = 0; i < o->count && v == HOLDS; i++) {
        const struct oracle_race *r = &o->races[i];

        if (witness_check(w, r->witness, r->nwitness, &err))
            continue;
        buf_addf(why, "the oracle's witness of (%zu, %zu) is refused: %s", r->first, r->second,
                 err.text);
        v = VIOLATED;
    }
    witness_trace_free(w);
    return v;
}

static enum verdict witnesses_of_the_oracle_are_accepted(struct subject *s, struct buf *why)
{
    return are_accepted(s, &s->oracle, why);
}

/* Semaphores as counters: all that the posts which engines keep in order allow is possible, and the
 * checker agrees on what else is. */
static enum verdict counts_allow_what_posts_allow(struct subject *s, struct buf *why)
{
    struct oracle counted;
    enum verdict v = DOES_NOT_APPLY;

    oracle_run_counted(&s->mem, s->info, 1000000, &counted);
    if (counted.complete && s->oracle.complete)
        v = both(subset(&s->oracle.pairs, &counted.pairs, "is lost when posts are counted", why),
                 are_accepted(s, &counted, why));
    oracle_release(&counted);
    return v;
}

/* The race has a witness, and the witness is one: judged here by a checker of our
 * own, by the oracle's rules, and by what it ends with. */
enum verdict judge_witness(struct subject *s, const struct race *r, const struct witness_trace *w,
                           struct buf *why)
{
    uint64_t a = r->first.position, b = r->second.position;
    struct error err = { "" };
    size_t n = r->nwitness;

    if (r->strength != STRENGTH_WITNESSED || n < 2)
        buf_addf(why, "(%llu, %llu) has no witness", (unsigned long long)a, (unsigned long long)b);
    else if (!(r->witness[n - 2] == a && r->witness[n - 1] == b) &&
             !(r->witness[n - 2] == b && r->witness[n - 1] == a))
        buf_addf(why, "the witness of (%llu, %llu) does not end with it", (unsigned long long)a,
                 (unsigned long long)b);
    else if (!witness_check(w, r->witness, n, &err))
        buf_addf(why, "the witness of (%llu, %llu) is refused: %s", (unsigned long long)a,
                 (unsigned long long)b, err.text);
    else if (!oracle_accepts(&s->mem, s->info, r->witness, n))
        buf_addf(why, "the witness of (%llu, %llu) is refused by the oracle", (unsigned long long)a,
                 (unsigned long long)b);
    else
        return HOLDS;
    return VIOLATED;
}

enum verdict races_have_witnesses(struct subject *s, const struct engine *e, struct buf *why)
{
    const struct race_table *races = &subject_result(s, e)->races;
    struct witness_trace *w;
    enum verdict v = HOLDS;

    if (!s->exact)
        return DOES_NOT_APPLY;
    w = witness_trace_new(&s->mem, s->info);
    for (size_t i = 0; i < races->count && v == HOLDS; i++)
        v = judge_witness(s, &races->races[i], w, why);
    witness_trace_free(w);
    return v;
}

static enum verdict shb_races_have_witnesses(struct subject *s, struct buf *why)
{
    return races_have_witnesses(s, &engine_shb, why);
}

/* Does its schedule begin with all that the trace has before the first access? */
static bool begins_as_trace(const struct subject *s, const struct race *r)
{
    size_t n = 0;

    for (uint64_t i = 0; i < r->first.position; i++)
        if (!(s->mem.events[i].flags & EV_IGNORED) && r->witness[n++] != i)
            return false;
    return true;
}

/* Long schedules begin as the trace does (observed.c): where all count as long, each race has one,
 * and it holds. */
static enum verdict judge_followers(struct subject *s, const struct race_table *races,
                                    struct buf *why)
{
    struct witness_trace *w = witness_trace_new(&s->mem, s->info);
    enum verdict v = HOLDS;

    for (size_t i = 0; i < races->count && v == HOLDS; i++) {
        const struct race *r = &races->races[i];

        v = judge_witness(s, r, w, why);
        if (v == HOLDS && witness_can_follow(w) && !s->info->calls && !begins_as_trace(s, r)) {
            buf_addf(why, "the schedule of (%llu, %llu) does not begin as the trace does",
                     (unsigned long long)r->first.position, (unsigned long long)r->second.position);
            v = VIOLATED;
        }
    }
    witness_trace_free(w);
    return v;
}

static enum verdict shb_schedules_may_follow_the_trace(struct subject *s, struct buf *why)
{
    const struct engine *engines[] = { &engine_shb };
    const struct engine_options options = { .follow_from = 1 };
    struct error err = { "" };
    struct analysis a;
    enum verdict v = VIOLATED;

    if (!s->exact)
        return DOES_NOT_APPLY;
    if (trace_rewind(s->trace, &err) < 0 ||
        analysis_run(s->trace, engines, 1, &options, NULL, &a, &err) < 0) {
        buf_addf(why, "%s", err.text);
        return VIOLATED;
    }
    if (a.runs[0].result.races.count != subject_result(s, &engine_shb)->races.count)
        buf_addf(why, "other races");
    else
        v = judge_followers(s, &a.runs[0].result.races, why);
    analysis_release(&a);
    return v;
}

/* ---- the binary format ---- */

static int write_hdl(struct subject *s, const char *path, struct error *err)
{
    struct hdl_options options = { .compression = s->mem.count % 3, .chunk_events = 5 };
    struct hdl_writer *w = hdl_create(path, trace_tables(s->trace), &options, err);
    struct batch b = { .events = s->mem.events, .count = s->mem.count, .extra = s->mem.extra };

    if (!w)
        return -1;
    if (b.count && hdl_write(w, &b, err)) {
        hdl_abort(w);
        return -1;
    }
    return hdl_finish(w, err);
}

static bool same_event(const struct event *a, const struct event *b)
{
    return a->target == b->target && a->thread == b->thread && a->site == b->site &&
           a->size == b->size && a->op == b->op && a->order == b->order && a->flags == b->flags &&
           (a->op == OP_CALL || (a->value == b->value && a->old == b->old));
}

static enum verdict compare_with_file(struct subject *s, const char *path, struct buf *why)
{
    struct error err = { "" };
    struct trace *t = trace_open(path, &err);
    struct trace_mem mem = { 0 };
    enum verdict v = HOLDS;
    struct buf text = { 0 };

    if (!t || trace_load(t, 1 << 16, &mem, &err)) {
        buf_addf(why, "the .hdl file cannot be read: %s", err.text);
        trace_close(t);
        return VIOLATED;
    }
    for (size_t i = 0; i < mem.count; i++)
        text_event(&text, &mem.events[i], mem.extra, trace_tables(t));
    if (text.len != s->text.len || memcmp(text.data, s->text.data, text.len)) {
        buf_addf(why, "through .hdl it becomes\n%s", text.len ? text.data : "");
        v = VIOLATED;
    }
    for (size_t i = 0; i < mem.count && v == HOLDS; i++) {
        if (same_event(&mem.events[i], &s->mem.events[i]))
            continue;
        buf_addf(why, "event %zu is different after .hdl", i);
        v = VIOLATED;
    }
    buf_release(&text);
    trace_mem_release(&mem);
    trace_close(t);
    return v;
}

static enum verdict hdl_keeps_every_event(struct subject *s, struct buf *why)
{
    struct error err = { "" };
    char path[256];
    enum verdict v;

    scratch_path(path, sizeof(path), ".hdl");
    if (write_hdl(s, path, &err)) {
        buf_addf(why, "cannot write .hdl: %s", err.text);
        return VIOLATED;
    }
    v = compare_with_file(s, path, why);
    unlink(path);
    return v;
}

const struct property properties_observed[] = {
    { "text-comes-back-unchanged", text_comes_back_unchanged, 1 },
    { "nothing-had-to-be-repaired", nothing_had_to_be_repaired, 1 },
    { "hb-is-algorithm-3", hb_is_algorithm_3, 1 },
    { "shb-is-algorithm-4", shb_is_algorithm_4, 1 },
    { "lockset-is-every-pair-without-a-common-lock", lockset_is_every_pair_without_a_common_lock,
      1 },
    { "hb-races-are-unordered", hb_races_are_unordered, 1 },
    { "shb-races-are-unordered-by-hb", shb_races_are_unordered_by_hb, 1 },
    { "fasttrack-races-are-unordered", fasttrack_races_are_unordered, 1 },
    { "fasttrack-names-every-racy-variable", fasttrack_names_every_racy_variable, 1 },
    { "shb-races-are-predictable", shb_races_are_predictable, 1 },
    { "the-first-hb-race-is-predictable", the_first_hb_race_is_predictable, 1 },
    { "predictable-races-have-no-common-lock", predictable_races_have_no_common_lock, 1 },
    { "knowledge-adds-races", knowledge_adds_races, 2 },
    { "counts-allow-what-posts-allow", counts_allow_what_posts_allow, 2 },
    { "witnesses-of-the-oracle-are-accepted", witnesses_of_the_oracle_are_accepted, 1 },
    { "shb-races-have-witnesses", shb_races_have_witnesses, 1 },
    { "shb-schedules-may-follow-the-trace", shb_schedules_may_follow_the_trace, 1 },
    { "hdl-keeps-every-event", hdl_keeps_every_event, 4 },
    { NULL, NULL, 0 },
};

/* ---- the cascade ---- */

int run_cascade(struct subject *s, const struct engine_options *options, struct analysis *a,
                struct error *err)
{
    enum { ENGINES_MAX = 32 };
    const struct engine *engines[ENGINES_MAX];
    size_t n = 0;

    for (size_t i = 0; engine_registry[i]; i++)
        if (!engine_registry[i]->on_request)
            engines[n++] = engine_registry[i];
    return trace_rewind(s->trace, err) || analysis_run(s->trace, engines, n, options, NULL, a, err);
}

enum strength cascade_strength(const struct analysis *a, uint32_t site, uint32_t other)
{
    enum strength best = STRENGTH_COUNT;

    for (size_t i = 0; i < a->count; i++) {
        const struct race *r = race_table_find(&a->runs[i].result.races, site, other);

        if (r && r->strength < best)
            best = r->strength;
    }
    return best;
}

enum verdict cascade_schedules_hold(const struct subject *s, const struct analysis *a,
                                    struct buf *why)
{
    struct witness_trace *w = witness_trace_new(&s->mem, s->info);
    enum verdict v = HOLDS;
    struct error err = { "" };

    if (s->info->calls)
        witness_trace_set_calls(w, CALLS_PAIRS, trace_tables(s->trace));
    for (size_t i = 0; i < a->count; i++) {
        const struct race_table *t = &a->runs[i].result.races;

        for (size_t k = 0; k < t->count && v == HOLDS; k++)
            if (t->races[k].witness &&
                witness_check(w, t->races[k].witness, t->races[k].nwitness, &err) != 1) {
                buf_addf(why, "%s: %s", a->runs[i].engine->name, err.text);
                v = VIOLATED;
            }
    }
    witness_trace_free(w);
    return v;
}
