/* verify.c - heddle verify: the independent witness checker, alone
 *
 * Nothing of the engines takes part. One pass compares the accesses with the
 * trace; where there are schedules, a second one loads what they need: a
 * schedule can only use events up to the last one it names. Schedules of rdit
 * and sb are also judged by what calls of untraced code may touch, and that
 * includes the ends of threads: for those all is loaded that the engines had, as
 * it is where reads have values, of which some may be nobody's (trace/calls/unseen.h).
 * Schedules that come after a beginning as recorded ("after") are checked in
 * the part of the trace that they are about (trace/parts.h).
 * Where reads see other values, the execution is rebuilt from trace and program.
 * An observed race has no schedule: that nothing orders its accesses is checked in passes of their
 * own (witness/order.h).
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/exclusion.h"
#include "cmd/progress.h"
#include "cmd/tracedir.h"
#include "base/alloc.h"
#include "base/plural.h"
#include "engines/certain.h"
#include "engines/whole.h"
#include "execution/execution.h"
#include "execution/flip.h"
#include "report/clean.h"
#include "trace/parts.h"
#include "trace/calls/unseen.h"
#include "witness/order.h"
#include "witness/witness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The event of one side of a race, or of a request of a deadlock, as the trace has it. */
struct sighting {
    const struct side *side;
    struct event event;
    bool found;
};

struct verifier {
    const struct options *options;
    const struct operand *in, *result;
    const struct findings *f;
    struct trace *trace;
    struct sighting *sightings; /* race i has 2i and 2i + 1; the deadlocks' follow, in order */
    struct sighting **by_event; /* the same, sorted by position */
    size_t nsightings;
    struct trace_mem mem;    /* what the schedules need */
    struct certain *certain; /* which reads of a recording are in their place; once asked for */
    uint64_t first;          /* position of the event that is the first own one of those at hand */
    size_t kept;             /* events before it that stand for all */
    struct witness_trace *checkers[CALLS_SIMPLE + 1]; /* by rule; NULL where not needed yet */
    struct execution *execution;                      /* for schedules with other values */
    struct execution *flipped; /* for branches that go another way, with all of these */
    struct flips *flips;
    const char *doubt;         /* is all synchronisation in the trace (trace_doubt())? */
    enum order_answer *orders; /* of observed races without a schedule */
    struct part part;          /* of a long trace, for schedules that come after a beginning */
    struct witness_trace *part_checker;
};

static int compare_sightings(const void *a, const void *b)
{
    uint64_t x = (*(struct sighting *const *)a)->side->event;
    uint64_t y = (*(struct sighting *const *)b)->side->event;

    return x < y ? -1 : x > y;
}

static void add_sighting(struct verifier *v, const struct side *side)
{
    v->sightings[v->nsightings].side = side;
    v->by_event[v->nsightings] = &v->sightings[v->nsightings];
    v->nsightings++;
}

static void verifier_init(struct verifier *v)
{
    const struct findings *f = v->f;
    size_t n = 2 * f->count;

    for (size_t i = 0; i < f->ndeadlocks; i++)
        n += f->deadlocks[i].nwaiters;
    v->sightings = xcalloc(n + 1, sizeof(*v->sightings));
    v->by_event = xcalloc(n + 1, sizeof(*v->by_event));
    for (size_t i = 0; i < 2 * f->count; i++)
        add_sighting(v, &f->races[i / 2].sides[i % 2]);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        for (size_t k = 0; k < f->deadlocks[i].nwaiters; k++)
            add_sighting(v, &f->deadlocks[i].waiters[k].request);
    qsort(v->by_event, n, sizeof(*v->by_event), compare_sightings);
}

static void verifier_release(struct verifier *v)
{
    for (size_t i = 0; i <= CALLS_SIMPLE; i++)
        witness_trace_free(v->checkers[i]);
    witness_trace_free(v->part_checker);
    part_release(&v->part);
    certain_free(v->certain);
    execution_free(v->execution);
    execution_free(v->flipped);
    flips_free(v->flips);
    trace_mem_release(&v->mem);
    free(v->orders);
    free(v->sightings);
    free(v->by_event);
    trace_close(v->trace);
}

/* The first pass: all events, for their number, and those of the accesses. */
static int sight_accesses(struct verifier *v, struct error *err)
{
    struct progress progress;
    struct batch b;
    size_t next = 0;
    int r;

    progress_start(&progress, true, NULL);
    while ((r = progress_next(&progress, v->trace, &b, err)) > 0) {
        for (; next < v->nsightings; next++) {
            struct sighting *s = v->by_event[next];

            if (s->side->event >= b.first + b.count)
                break;
            s->event = b.events[s->side->event - b.first];
            s->found = true;
        }
    }
    return r;
}

static uint64_t highest(const uint64_t *witness, size_t n, uint64_t least)
{
    for (size_t i = 0; i < n; i++)
        least = witness[i] >= least ? witness[i] + 1 : least;
    return least;
}

/* What the engine that made the schedule says about calls of untraced code. */
static enum witness_calls rule_of(const struct findings *f, const struct finding *r)
{
    const char *engine = r->decided_by;

    for (size_t i = 0; !engine && i < f->nengines; i++)
        if (r->engines >> i & 1)
            engine = f->engines[i].name;
    if (!engine)
        return CALLS_IGNORED;
    return strcmp(engine, "rdit") == 0 || strncmp(engine, "recipe", 6) == 0 ? CALLS_PAIRS
           : strcmp(engine, "sb") == 0                                      ? CALLS_SIMPLE
           : strcmp(engine, "mc") == 0                                      ? CALLS_UNSEEN
                                                                            : CALLS_IGNORED;
}

/* Its proof is that nothing orders it. */
static bool is_observed(const struct finding *r)
{
    return r->strength == STRENGTH_OBSERVED && !r->witness;
}

/* How many events the schedules need: one more than the highest position, or all. */
static uint64_t needed_events(const struct findings *f, bool values, bool calls)
{
    uint64_t n = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (f->races[i].after)
            continue;
        n = highest(f->races[i].witness, f->races[i].nwitness, n);
        if (n < WHOLE_EVENTS_MAX && ((f->races[i].witness && rule_of(f, &f->races[i])) ||
                                     (calls && is_observed(&f->races[i]))))
            n = WHOLE_EVENTS_MAX;
    }
    for (size_t i = 0; i < f->ndeadlocks; i++)
        n = highest(f->deadlocks[i].witness, f->deadlocks[i].nwitness, n);
    return values && n && n < WHOLE_EVENTS_MAX ? WHOLE_EVENTS_MAX : n;
}

static bool is_sure(void *verifier, size_t event)
{
    struct verifier *v = verifier;
    struct error err;

    if (!v->certain)
        v->certain = certain_new(v->trace, trace_info(v->trace)->events, &err);
    return v->certain && event >= v->kept && certain_is(v->certain, v->first + event - v->kept);
}

/* The marks that the engines had, made of the same events. */
static void mark_unseen(struct verifier *v, struct trace_mem *mem, const struct part *part)
{
    struct unseen_input in = { .beginning = !part, .sure = is_sure, .arg = v };

    v->first = part ? part->first : 0;
    v->kept = part ? part->kept : 0;
    unseen_mark(mem, trace_info(v->trace), &in);
}

/* The second pass. */
static int load_schedules(struct verifier *v, struct error *err)
{
    uint64_t needed =
        needed_events(v->f, trace_info(v->trace)->values, trace_info(v->trace)->calls);

    if (!needed)
        return 0;
    if (trace_rewind(v->trace, err) < 0 || trace_load_first(v->trace, needed, &v->mem, err) < 0)
        return -1;
    mark_unseen(v, &v->mem, NULL);
    return 0;
}

static struct witness_trace *checker_of(struct verifier *v, enum witness_calls rule)
{
    if (!v->checkers[rule]) {
        v->checkers[rule] = witness_trace_new(&v->mem, trace_info(v->trace));
        witness_trace_set_calls(v->checkers[rule], rule, trace_tables(v->trace));
        witness_trace_set_names(v->checkers[rule], trace_tables(v->trace));
    }
    return v->checkers[rule];
}

static bool is_text(const char *from_trace, const char *from_result)
{
    struct buf clean = { 0 };
    bool same;

    clean_add(&clean, from_trace, strlen(from_trace));
    buf_addch(&clean, 0);
    same = strcmp(clean.data, from_result) == 0;
    buf_release(&clean);
    return same;
}

/* The event of a side is what the result says it is. */
static int check_sighting(const struct sighting *seen, const struct tables *t, struct error *err)
{
    const struct side *s = seen->side;
    const struct event *ev = &seen->event;

    if (!seen->found)
        return error_set(err, "there is no event %" PRIu64, s->event);
    if (!is_text(intern_get(&t->threads, ev->thread), s->thread))
        return error_set(err, "event %" PRIu64 " is by %s, not %s", s->event,
                         intern_get(&t->threads, ev->thread), s->thread);
    if (s->unexecuted) /* what the event is, the path knows */
        return 0;
    if (strcmp(op_table[op_wanted(ev->op)].name, findings_access(s)) != 0)
        return error_set(err, "event %" PRIu64 " is a %s, not a %s", s->event,
                         op_table[ev->op].name, s->op);
    if (!is_text(tables_location(t, ev->site), s->location))
        return error_set(err, "event %" PRIu64 " is at %s, not %s", s->event,
                         tables_location(t, ev->site), s->location);
    return 0;
}

/* Where a witness has a side of the race: new events have positions of their own. */
static uint64_t side_position(const struct finding *r, unsigned side)
{
    for (size_t i = 0; i < r->nflips; i++)
        if (r->flips[i].side == side)
            return r->flips[i].access;
    return r->sides[side].event;
}

static int check_ends(const struct finding *r, struct error *err)
{
    uint64_t a = side_position(r, 0), b = side_position(r, 1), x, y;

    if (r->nwitness < 2)
        return error_set(err, "the witness has %zu event%s", r->nwitness, plural(r->nwitness));
    x = r->witness[r->nwitness - 2];
    y = r->witness[r->nwitness - 1];
    if ((x == a && y == b) || (x == b && y == a))
        return 0;
    return error_set(err, "the witness ends with %" PRIu64 " and %" PRIu64 ", not with the race", x,
                     y);
}

/* The witness of a deadlock ends with its requests, in their order. */
static int check_requests(const struct deadlock_finding *d, struct error *err)
{
    if (d->nwitness < d->nwaiters)
        return error_set(err, "the witness has %zu event%s", d->nwitness, plural(d->nwitness));
    for (size_t i = 0; i < d->nwaiters; i++)
        if (d->witness[d->nwitness - d->nwaiters + i] != d->waiters[i].request.event)
            return error_set(err, "the witness does not end with the requests");
    return 0;
}

/* Reads of the schedule may see other values: these are computed again. None need differ: what was
 * there first may be what was read, and only the values tell. */
static int check_values(struct verifier *v, const struct finding *r, struct error *err)
{
    struct witness_trace *checker = checker_of(v, rule_of(v->f, r));
    struct witness_change *changes;
    int verdict;

    if (!v->execution)
        v->execution = execution_new(&v->mem, trace_tables(v->trace), err);
    if (!v->execution) {
        error_prefix(err, "it holds by values, and the program's code is needed to compute them");
        return 0;
    }
    changes = xcalloc(r->nchanges + 1, sizeof(*changes));
    for (size_t i = 0; i < r->nchanges; i++)
        changes[i] = (struct witness_change){ r->changes[i].event, r->changes[i].writer,
                                              r->changes[i].value, r->changes[i].has_value };
    witness_trace_set_execution(checker, v->execution);
    verdict = witness_check_values(checker, r->witness, r->nwitness, changes, r->nchanges, err);
    free(changes);
    return verdict;
}

/* ---- branches that go another way: made again, and put into the execution ---- */

/* The path of a flip, if it is what the result says. */
static const struct flip_path *verify_path_of(const struct verifier *v, const struct finding *r,
                                              const struct finding_flip *flip, struct error *err)
{
    const struct flip_path *p;
    const struct event *ev;

    if (flip->path >= flips_count(v->flips)) {
        error_set(err, "there is no path %" PRIu64, flip->path);
        return NULL;
    }
    p = flips_get(v->flips, flip->path);
    ev = &p->events[flip->access - flip->first].event;
    if (p->branch != flip->event || p->outcome != flip->outcome || p->by_value != flip->by_value ||
        p->nevents != flip->nevents)
        error_set(err, "path %" PRIu64 " is another one", flip->path);
    else if (!is_text(tables_location(trace_tables(v->trace), ev->site),
                      r->sides[flip->side].location) ||
             strcmp(op_table[ev->op].name, r->sides[flip->side].op) != 0)
        error_set(err, "the access of path %" PRIu64 " is another one", flip->path);
    else
        return p;
    return NULL;
}

/* A position of the result in the changed execution. */
static uint64_t placed(const struct finding *r, const struct flip_path *const *paths,
                       uint32_t *const *places, uint64_t position)
{
    uint64_t to = position;

    for (size_t i = 0; i < r->nflips; i++) {
        if (position - r->flips[i].first < r->flips[i].nevents)
            return places[i][position - r->flips[i].first];
        to += position > r->flips[i].event ? flips_shift(paths[i]) : 0;
    }
    return to;
}

static int check_flipped(struct verifier *v, const struct finding *r,
                         const struct flip_path *const *paths, struct error *err)
{
    uint32_t *places[2] = { xcalloc(r->flips[0].nevents + 1, sizeof(uint32_t)),
                            xcalloc(r->flips[r->nflips - 1].nevents + 1, sizeof(uint32_t)) };
    struct execution *e = execution_flip(v->flipped, paths[0], paths[1], places[0], places[1]);
    struct witness_trace *checker = witness_trace_new(e->trace, trace_info(v->trace));
    struct witness_change *changes = xcalloc(r->nchanges + 1, sizeof(*changes));
    uint64_t *list = xcalloc(r->nwitness + 1, sizeof(*list));
    int verdict;

    for (size_t i = 0; i < r->nwitness; i++)
        list[i] = placed(r, paths, places, r->witness[i]);
    for (size_t i = 0; i < r->nchanges; i++) {
        uint64_t writer = r->changes[i].writer;

        changes[i] =
            (struct witness_change){ placed(r, paths, places, r->changes[i].event),
                                     writer == CHANGE_FIRST ? writer
                                                            : placed(r, paths, places, writer),
                                     r->changes[i].value, r->changes[i].has_value };
    }
    witness_trace_set_calls(checker, rule_of(v->f, r), trace_tables(v->trace));
    witness_trace_set_names(checker, trace_tables(v->trace));
    witness_trace_set_execution(checker, e);
    verdict = witness_check_values(checker, list, r->nwitness, changes, r->nchanges, err);
    witness_trace_free(checker);
    execution_flip_free(e);
    free(changes);
    free(list);
    free(places[0]);
    free(places[1]);
    return verdict;
}

static int check_flips(struct verifier *v, const struct finding *r, struct error *err)
{
    const struct flip_path *paths[2] = { NULL, NULL };

    if (!v->flipped) /* sites are only added to the tables */
        v->flipped = execution_with_flips(
            &v->mem, (struct tables *)(uintptr_t)trace_tables(v->trace), &v->flips, err);
    if (!v->flipped) {
        error_prefix(err,
                     "a branch goes another way, and the program's code is needed to check it");
        return 0;
    }
    for (size_t i = 0; i < r->nflips; i++)
        if (!(paths[i] = verify_path_of(v, r, &r->flips[i], err)))
            return 0;
    return check_flipped(v, r, paths, err);
}

/* ---- schedules that come after a beginning as recorded ---- */

/* The same part again, unless it is there. */
static int load_part(struct verifier *v, const struct finding *r, struct error *err)
{
    uint64_t own = v->part.mem.count - v->part.kept;

    if (r->part > UINT32_MAX)
        return error_set(err, "a part of %" PRIu64 " events is too large", r->part);
    if (v->part.mem.events && v->part.first == r->after && own == r->part)
        return 0;
    witness_trace_free(v->part_checker);
    v->part_checker = NULL;
    part_release(&v->part);
    if (part_load(v->trace, r->after, (size_t)r->part, &v->part, err) < 0)
        return -1;
    mark_unseen(v, &v->part.mem, &v->part);
    return 0;
}

static struct witness_trace *part_checker(struct verifier *v, enum witness_calls rule)
{
    if (!v->part_checker) {
        v->part_checker = witness_trace_new(&v->part.mem, trace_info(v->trace));
        witness_trace_set_names(v->part_checker, trace_tables(v->trace));
    }
    witness_trace_set_calls(v->part_checker, rule, trace_tables(v->trace));
    return v->part_checker;
}

static int check_after(struct verifier *v, const struct finding *r, struct error *err)
{
    uint64_t *list;
    size_t n = 0;
    int verdict = 0;

    if (load_part(v, r, err) < 0)
        return 0;
    list = xcalloc(v->part.kept + r->nwitness + 1, sizeof(*list));
    for (; n < v->part.kept; n++)
        list[n] = n;
    for (size_t i = 0; i < r->nwitness; i++)
        list[n++] = part_event(&v->part, r->witness[i]);
    verdict = witness_check(part_checker(v, rule_of(v->f, r)), list, n, err);
    free(list);
    return verdict;
}

static int check_schedule(struct verifier *v, const struct finding *r, struct error *err)
{
    if (r->after)
        return check_after(v, r, err);
    if (r->nflips)
        return check_flips(v, r, err);
    if (r->by_values)
        return check_values(v, r, err);
    return witness_check(checker_of(v, rule_of(v->f, r)), r->witness, r->nwitness, err);
}

/* ---- observed races ---- */

/* The next of them, from `at` on; where it stopped. */
static size_t next_questions(const struct verifier *v, size_t at, struct order_question *q,
                             size_t *n)
{
    *n = 0;
    for (; at < v->f->count && *n < ORDER_QUESTIONS; at++)
        if (is_observed(&v->f->races[at]))
            q[(*n)++] = (struct order_question){ .first = v->f->races[at].sides[0].event,
                                                 .second = v->f->races[at].sides[1].event };
    return at;
}

static int ask_trace(struct verifier *v, struct order_question *q, size_t n, struct error *err)
{
    struct witness_order *o;
    struct batch b;
    int r = trace_rewind(v->trace, err);

    if (r < 0)
        return -1;
    o = witness_order_new(q, n);
    while ((r = trace_next(v->trace, &b, err)) > 0)
        witness_order_events(o, b.events, b.count);
    witness_order_free(o);
    return r;
}

/* Where calls of untraced code may order accesses, all events are at hand that the engines had. */
static int verify_ask(struct verifier *v, struct order_question *q, size_t n, struct error *err)
{
    if (!trace_info(v->trace)->calls)
        return ask_trace(v, q, n, err);
    witness_order_with_calls(checker_of(v, CALLS_PAIRS), q, n);
    return 0;
}

static int ask_all(struct verifier *v, struct error *err)
{
    struct order_question q[ORDER_QUESTIONS];
    size_t n, from = 0, to;

    v->orders = xcalloc(v->f->count + 1, sizeof(*v->orders));
    while ((to = next_questions(v, from, q, &n)) > from && n) {
        if (verify_ask(v, q, n, err) < 0)
            return -1;
        n = 0;
        for (; from < to; from++)
            if (is_observed(&v->f->races[from]))
                v->orders[from] = q[n++].answer;
    }
    return 0;
}

static enum order_answer order_of(const struct verifier *v, size_t race, struct error *err)
{
    if (v->doubt) {
        error_set(err, "%s", v->doubt);
        return ANSWER_ORDERED;
    }
    if (v->orders[race] == ANSWER_NO_CONFLICT)
        error_set(err, "the two accesses do not conflict");
    if (v->orders[race] == ANSWER_ORDERED)
        error_set(err, "synchronisation orders event %" PRIu64 " before event %" PRIu64,
                  v->f->races[race].sides[0].event, v->f->races[race].sides[1].event);
    return v->orders[race];
}

enum verdict { ACCEPTED, REFUSED, NO_WITNESS, VERDICTS };

static enum verdict judge(struct verifier *v, size_t race, struct error *err)
{
    const struct finding *r = &v->f->races[race];

    for (size_t k = 0; k < 2; k++)
        if (check_sighting(&v->sightings[2 * race + k], trace_tables(v->trace), err) < 0)
            return REFUSED;
    if (is_observed(r))
        switch (order_of(v, race, err)) {
        case ANSWER_OPEN:
            return NO_WITNESS; /* beyond the events at hand */
        case ANSWER_UNORDERED:
            return ACCEPTED;
        default:
            return REFUSED;
        }
    if (!r->witness)
        return NO_WITNESS;
    if (check_ends(r, err) < 0)
        return REFUSED;
    return check_schedule(v, r, err) == 1 ? ACCEPTED : REFUSED;
}

/* `seen` are the sightings of its requests. */
static enum verdict judge_deadlock(struct verifier *v, const struct deadlock_finding *d,
                                   const struct sighting *seen, struct error *err)
{
    for (size_t k = 0; k < d->nwaiters; k++)
        if (check_sighting(&seen[k], trace_tables(v->trace), err) < 0)
            return REFUSED;
    if (!d->witness)
        return NO_WITNESS;
    if (check_requests(d, err) < 0)
        return REFUSED;
    return witness_check_deadlock(checker_of(v, CALLS_IGNORED), d->witness, d->nwitness,
                                  d->nwaiters, err) == 1
               ? ACCEPTED
               : REFUSED;
}

static void tell_verdict(const char *kind, size_t number, const char *id, enum verdict verdict,
                         const struct error *err)
{
    printf("%s %zu %s: ", kind, number, id);
    if (verdict == REFUSED)
        printf("refused: %s\n", err->text);
    else
        puts(verdict == ACCEPTED ? "accepted" : "no witness");
}

static void tell_verdicts(const char *kind, size_t n, const size_t verdicts[VERDICTS])
{
    printf("%zu %s%s: %zu accepted, %zu refused, %zu without a witness\n", n, kind,
           n == 1 ? "" : "s", verdicts[ACCEPTED], verdicts[REFUSED], verdicts[NO_WITNESS]);
}

/* Part by part of a long trace: each is loaded once. */
static enum verdict *judge_races(struct verifier *v, struct error *reasons)
{
    const struct findings *f = v->f;
    enum verdict *verdicts = xcalloc(f->count + 1, sizeof(*verdicts));
    uint64_t part = 0, next;

    do {
        next = UINT64_MAX;
        for (size_t i = 0; i < f->count; i++) {
            if (f->races[i].after == part)
                verdicts[i] = judge(v, i, &reasons[i]);
            else if (f->races[i].after > part && f->races[i].after < next)
                next = f->races[i].after;
        }
        part = next;
    } while (next < UINT64_MAX);
    return verdicts;
}

static int judge_all(struct verifier *v)
{
    const struct findings *f = v->f;
    const struct sighting *seen = v->sightings + 2 * f->count;
    size_t races[VERDICTS] = { 0 }, deadlocks[VERDICTS] = { 0 };
    struct error err, *reasons = xcalloc(f->count + 1, sizeof(*reasons));
    enum verdict *verdicts = judge_races(v, reasons);

    for (size_t i = 0; i < f->count; i++) {
        tell_verdict("race", i + 1, f->races[i].id, verdicts[i], &reasons[i]);
        races[verdicts[i]]++;
    }
    free(verdicts);
    free(reasons);
    for (size_t i = 0; i < f->ndeadlocks; i++) {
        enum verdict verdict = judge_deadlock(v, &f->deadlocks[i], seen, &err);

        tell_verdict("deadlock", f->count + i + 1, f->deadlocks[i].id, verdict, &err);
        deadlocks[verdict]++;
        seen += f->deadlocks[i].nwaiters;
    }
    tell_verdicts("race", f->count, races);
    if (f->ndeadlocks)
        tell_verdicts("deadlock", f->ndeadlocks, deadlocks);
    return races[REFUSED] || deadlocks[REFUSED] ? EXIT_BAD_INPUT : EXIT_NOTHING;
}

static bool verify_is_complete(const struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++)
        if (!f->engines[i].complete)
            return false;
    return true;
}

/* An analysis that was interrupted has seen fewer events than there are. */
static bool belongs(const struct findings *f, uint64_t events)
{
    return f->trace.events == events || f->trace.events == 0 ||
           (f->trace.events < events && !verify_is_complete(f));
}

static int verify(struct verifier *v)
{
    struct error err;
    uint64_t events;
    int code;

    v->trace = operand_trace(v->in);
    if (!v->trace)
        return EXIT_BAD_INPUT;
    code = exclusion_apply(v->options, v->in, v->trace);
    if (code)
        return code;
    if (sight_accesses(v, &err) < 0)
        return operand_error(v->in, &err);
    events = trace_info(v->trace)->events;
    v->doubt = trace_doubt(v->trace);
    if (!belongs(v->f, events))
        return bad_input("'%s' does not belong to '%s': it is about %" PRIu64
                         " events, the trace has %" PRIu64,
                         v->result->shown, v->in->shown, v->f->trace.events, events);
    if (load_schedules(v, &err) < 0 || ask_all(v, &err) < 0)
        return operand_error(v->in, &err);
    return judge_all(v);
}

static int verify_one(const struct options *o, const struct operand *in,
                      const struct operand *result, const struct findings *f)
{
    struct verifier v = { .options = o, .in = in, .result = result, .f = f };
    int code;

    verifier_init(&v);
    code = verify(&v);
    verifier_release(&v);
    return code;
}

/* The file that the i-th race's or deadlock's positions are in; the deadlocks follow the races. */
static const char *trace_of(const struct findings *f, size_t i)
{
    const char *path = i < f->count ? f->races[i].trace : f->deadlocks[i - f->count].trace;

    return path ? path : "";
}

/* The races and deadlocks of one trace of a directory, as a result of their own. */
static struct findings part_of(const struct findings *f, const char *path)
{
    struct findings part = { .trace = f->trace,
                             .races = xcalloc(f->count + 1, sizeof(*f->races)),
                             .deadlocks = xcalloc(f->ndeadlocks + 1, sizeof(*f->deadlocks)) };

    part.trace.events = 0; /* it is the sum of all */
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(trace_of(f, i), path) == 0)
            part.races[part.count++] = f->races[i];
    for (size_t i = 0; i < f->ndeadlocks; i++)
        if (strcmp(trace_of(f, f->count + i), path) == 0)
            part.deadlocks[part.ndeadlocks++] = f->deadlocks[i];
    return part;
}

/* The file is looked for where the user says, under the name it had. */
static int verify_part(const struct options *o, const char *path, const struct operand *result,
                       const struct findings *f)
{
    const char *slash = strrchr(path, '/');
    char *file = xasprintf("%s/%s", o->arguments[0], slash ? slash + 1 : path);
    struct findings part = part_of(f, path);
    struct operand in;
    int code = operand_open(&in, file);

    if (code == 0) {
        printf("in '%s':\n", file);
        code = verify_one(o, &in, result, &part);
        operand_close(&in);
    }
    free(part.races);
    free(part.deadlocks);
    free(file);
    return code;
}

static bool seen_before(const struct findings *f, size_t finding)
{
    for (size_t i = 0; i < finding; i++)
        if (strcmp(trace_of(f, i), trace_of(f, finding)) == 0)
            return true;
    return false;
}

static int verify_parts(const struct options *o, const struct operand *result,
                        const struct findings *f)
{
    int worst = EXIT_NOTHING;

    if (!f->count && !f->ndeadlocks)
        puts("no races to verify");
    for (size_t i = 0; i < f->count + f->ndeadlocks; i++) {
        int code = 0;

        if (!seen_before(f, i))
            code = verify_part(o, trace_of(f, i), result, f);
        worst = code > worst ? code : worst;
    }
    return worst;
}

/* A result of several traces needs their directory. */
static int verify_result(const struct options *o, const struct operand *result,
                         const struct findings *f)
{
    const char *path = o->arguments[0];
    struct operand in;
    int code;
    bool several = f->trace.recording.processes > 1 || (f->count && f->races[0].trace) ||
                   (f->ndeadlocks && f->deadlocks[0].trace);

    if (several && tracedir_is(path))
        return verify_parts(o, result, f);
    code = operand_open(&in, path);
    if (code)
        return code;
    code = verify_one(o, &in, result, f);
    operand_close(&in);
    return code;
}

int cmd_verify(const struct options *o)
{
    struct findings f = { 0 };
    struct operand result;
    int code = access(o->arguments[0], R_OK) == 0 || strcmp(o->arguments[0], "-") == 0
                   ? 0
                   : bad_input("cannot read '%s': %s", o->arguments[0], strerror(errno));

    if (code == 0)
        code = operand_open(&result, o->arguments[1]);
    if (code)
        return code;
    code = operand_read_result(&result, &f);
    if (code == 0)
        code = verify_result(o, &result, &f);
    findings_release(&f);
    operand_close(&result);
    return code;
}
