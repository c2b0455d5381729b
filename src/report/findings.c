/* findings.c - build the model: strings, trace facts, merging by pair of locations */
#include "report/findings.h"
#include "report/naming.h"
#include "report/changed_reads.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/buf.h"
#include "report/clean.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void findings_release(struct findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->races[i].witness);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        free(f->deadlocks[i].witness);
    for (size_t i = 0; i < f->nengines; i++)
        free(f->engines[i].counters);
    free(f->races);
    free(f->deadlocks);
    free(f->engines);
    free(f->left);
    free(f->untold.names);
    intern_release(&f->strings);
    arena_release(&f->memory);
    map_release(&f->by_locations);
    *f = (struct findings){ 0 };
}

uint64_t findings_with_strength(const struct findings *f, enum strength s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        n += f->races[i].strength == s;
    return n;
}

static uint32_t string_number(struct findings *f, const char *s)
{
    struct buf b = { 0 };
    size_t len = strlen(s);
    uint32_t number;

    if (clean_is(s, len)) {
        number = intern_put(&f->strings, s, len);
    } else {
        clean_add(&b, s, len);
        number = intern_put(&f->strings, b.data, b.len);
    }
    buf_release(&b);
    return number;
}

const char *findings_string(struct findings *f, const char *s)
{
    return s ? intern_get(&f->strings, string_number(f, s)) : NULL;
}

static void copy_diagnoses(struct findings *f, const struct diags *d)
{
    struct findings_trace *t = &f->trace;

    t->diagnoses = arena_alloc(&f->memory, d->count * sizeof(*t->diagnoses) + 1);
    for (size_t i = 0; i < d->count; i++)
        t->diagnoses[t->ndiagnoses++] = (struct findings_diagnosis){
            .kind = findings_string(f, diag_kind_name(d->list[i].kind)),
            .text = findings_string(f, d->list[i].text),
            .event = d->list[i].position,
        };
    t->diagnosis_totals = arena_alloc(&f->memory, DIAG_KINDS * sizeof(*t->diagnosis_totals));
    for (int k = 0; k < DIAG_KINDS; k++)
        if (d->total[k])
            t->diagnosis_totals[t->ndiagnosis_totals++] =
                (struct findings_counter){ findings_string(f, diag_kind_name((enum diag_kind)k)),
                                           d->total[k] };
}

void findings_set_trace(struct findings *f, const char *path, const struct trace *t)
{
    const struct trace_info *info = trace_info(t);

    f->trace = (struct findings_trace){
        .path = findings_string(f, path),
        .format = findings_string(f, info->format),
        .events = info->events,
        .threads = trace_tables(t)->threads.count,
        .order = info->order,
        .values = info->values,
        .branches = info->branches,
        .calls = info->calls,
        .lost_bytes = info->lost_bytes,
        .loss = info->loss[0] ? findings_string(f, info->loss) : NULL,
        .repaired = diags_repaired(trace_diags(t)),
    };
    copy_diagnoses(f, trace_diags(t));
    findings_set_recording(f, trace_tables(t));
}

size_t findings_add_engine(struct findings *f, const char *name, double seconds, bool complete)
{
    invariant(f->nengines < FINDINGS_ENGINES);
    GROW(f->engines, f->engines_cap, f->nengines + 1);
    f->engines[f->nengines] = (struct findings_engine){
        .name = findings_string(f, name),
        .seconds = seconds,
        .complete = complete,
    };
    return f->nengines++;
}

void findings_add_left(struct findings *f, const struct findings_left *left)
{
    struct findings_left *to;

    for (size_t i = 0; i < f->nleft; i++)
        if (strcmp(f->left[i].first, left->first) == 0 &&
            strcmp(f->left[i].second, left->second) == 0)
            return;
    GROW(f->left, f->left_cap, f->nleft + 1);
    to = &f->left[f->nleft++];
    *to = (struct findings_left){ .first = findings_string(f, left->first),
                                  .second = findings_string(f, left->second) };
    for (int i = 0; i < 3 && left->calls[i]; i++)
        to->calls[i] = findings_string(f, left->calls[i]);
}

void findings_add_counter(struct findings *f, size_t engine, const char *name, uint64_t value)
{
    struct findings_engine *e = &f->engines[engine];

    GROW(e->counters, e->counters_cap, e->ncounters + 1);
    e->counters[e->ncounters++] = (struct findings_counter){ findings_string(f, name), value };
}

/* A finding with a witness beats one without, a stronger one a weaker; between equals the one
 * that was there first (the cheaper engine, the earlier instance) stays. */
static bool is_better(const struct race *r, const struct finding *old)
{
    bool is_shown = r->witness || r->long_witness; /* kept or not: output options decide nothing */
    bool was_shown = old->witness || old->long_witness;

    if (r->strength != old->strength)
        return r->strength < old->strength;
    if (is_shown != was_shown)
        return is_shown;
    if (r->independent != old->independent)
        return r->independent;
    if (!r->independent && (r->follows != FOLLOWS_NOTHING) != (old->cause != 0))
        return r->follows != FOLLOWS_NOTHING;
    return is_shown && r->after < old->after; /* a schedule with nothing left out says more */
}

/* New events get positions that no other race's have. */
static void take_flips(struct findings *f, struct finding *to, const struct race *from,
                       const struct tables *t)
{
    uint64_t first = from->nflips ? from->flips[0].first : UINT64_MAX;

    to->nflips = from->nflips;
    to->flips = from->nflips ? arena_alloc(&f->memory, from->nflips * sizeof(*to->flips)) : NULL;
    for (size_t i = 0; i < to->nwitness; i++)
        to->witness[i] += to->witness[i] >= first ? f->new_events : 0;
    for (size_t i = 0; i < from->nflips; i++) {
        const struct race_flip *flip = &from->flips[i];
        struct event *events = arena_alloc(&f->memory, (flip->nevents + 1) * sizeof(*events));

        memcpy(events, flip->events, flip->nevents * sizeof(*events));
        to->flips[i] =
            (struct finding_flip){ .event = flip->branch,
                                   .location = findings_string(f, tables_location(t, flip->site)),
                                   .outcome = flip->outcome,
                                   .by_value = flip->by_value,
                                   .path = flip->path,
                                   .first = flip->first + f->new_events,
                                   .nevents = flip->nevents,
                                   .access = flip->first + f->new_events + flip->access,
                                   .side = flip->is_second,
                                   .events = events };
        to->sides[flip->is_second].unexecuted = true;
    }
    for (size_t i = 0; i < from->nflips; i++)
        f->new_events += from->flips[i].nevents;
}

static void take_instance(struct findings *f, struct finding *to, struct race *from,
                          const struct tables *t)
{
    free(to->witness);
    to->strength = from->strength;
    to->independent = from->independent;
    to->witness = from->witness;
    to->nwitness = from->nwitness;
    to->after = from->after;
    to->part = from->part;
    to->long_witness = from->long_witness;
    to->sides[0] = (struct side){ .event = from->first.position };
    to->sides[1] = (struct side){ .event = from->second.position };
    to->sides[0].location = findings_string(f, tables_location(t, from->first.site));
    to->sides[1].location = findings_string(f, tables_location(t, from->second.site));
    changes_take(f, to, from, from->nflips ? from->flips[0].first : UINT64_MAX, f->new_events);
    take_flips(f, to, from, t);
    from->witness = NULL;
    from->nwitness = 0;
}

/* The location of a site as a number. Code of a system's header that was inlined counts by where
 * the program's own code calls it, too: two uses of std::vector are two places. */
static uint32_t place_number(struct findings *f, const struct tables *t, uint32_t site)
{
    const char *inner = tables_location(t, site), *own = inner;
    struct buf b = { 0 };
    uint32_t number;

    while (location_is_system(own) && (site = tables_site_parent(t, site)) != SITE_NONE)
        own = tables_location(t, site);
    if (own == inner)
        return string_number(f, inner);
    buf_addf(&b, "%s from %s", inner, own);
    number = string_number(f, b.data);
    buf_release(&b);
    return number;
}

static uint64_t place_pair(struct findings *f, const struct tables *t, uint32_t x, uint32_t y)
{
    uint32_t a = place_number(f, t, x), b = place_number(f, t, y);

    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* The finding of a race's pair of locations, a new one where there is none. */
static size_t findings_find_slot(struct findings *f, const struct race *r, const struct tables *t)
{
    uint64_t key = place_pair(f, t, r->first.site, r->second.site);
    uint32_t *slot = map_put(&f->by_locations, key, UINT32_MAX);

    if (*slot != UINT32_MAX)
        return *slot;
    *slot = (uint32_t)f->count;
    GROW(f->races, f->cap, f->count + 1);
    f->races[f->count] = (struct finding){ .strength = STRENGTH_COUNT };
    return f->count++;
}

void findings_add_races(struct findings *f, size_t engine, struct race_table *races,
                        const struct tables *t)
{
    uint64_t *counts = NULL; /* per finding: this engine's instances */
    size_t cap = 0;

    GROW(counts, cap, f->count + races->count + 1);
    for (size_t i = 0; i < races->count; i++) {
        struct race *r = &races->races[i];
        size_t at = findings_find_slot(f, r, t);
        struct finding *to = &f->races[at];
        uint64_t before = to->cause;
        uint64_t cause = r->follows ? place_pair(f, t, r->cause[0], r->cause[1]) + 1 : 0;

        if (is_better(r, to)) {
            take_instance(f, to, r, t);
            to->decided_by = f->engines[engine].name;
            to->cause = cause;
            to->may_follow = r->follows == FOLLOWS_MAYBE;
        }
        if (counts[at] && cause != before)
            to->cause = 0; /* two races in one place, that do not follow from the same */
        to->engines |= (uint64_t)1 << engine;
        f->engines[engine].races += counts[at] == 0;
        counts[at] += r->count;
        if (counts[at] > to->count)
            to->count = counts[at];
    }
    free(counts);
}

static int compare_findings(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;

    if (x->strength != y->strength)
        return x->strength < y->strength ? -1 : 1;
    if (x->sides[1].event != y->sides[1].event)
        return x->sides[1].event < y->sides[1].event ? -1 : 1;
    if (x->sides[0].event != y->sides[0].event)
        return x->sides[0].event < y->sides[0].event ? -1 : 1;
    return 0;
}

void findings_sort(struct findings *f)
{
    if (f->count)
        qsort(f->races, f->count, sizeof(*f->races), compare_findings);
    findings_sort_deadlocks(f);
    map_release(&f->by_locations); /* its indexes are wrong now */
}

static void recount(struct findings *f)
{
    for (size_t e = 0; e < f->nengines; e++) {
        f->engines[e].races = f->engines[e].deadlocks = 0;
        for (size_t i = 0; i < f->count; i++)
            f->engines[e].races += f->races[i].engines >> e & 1;
        for (size_t i = 0; i < f->ndeadlocks; i++)
            f->engines[e].deadlocks += f->deadlocks[i].engines >> e & 1;
    }
}

uint64_t findings_keep(struct findings *f,
                       bool (*keep)(void *arg, const struct finding *race,
                                    const struct deadlock_finding *deadlock),
                       void *arg)
{
    size_t races = 0, deadlocks = 0;
    uint64_t before = f->count + f->ndeadlocks;

    for (size_t i = 0; i < f->count; i++) {
        if (keep(arg, &f->races[i], NULL))
            f->races[races++] = f->races[i];
        else
            free(f->races[i].witness);
    }
    for (size_t i = 0; i < f->ndeadlocks; i++) {
        if (keep(arg, NULL, &f->deadlocks[i]))
            f->deadlocks[deadlocks++] = f->deadlocks[i];
        else
            free(f->deadlocks[i].witness);
    }
    f->count = races;
    f->ndeadlocks = deadlocks;
    recount(f);
    findings_link(f);
    return before - races - deadlocks;
}

static bool is_new(void *ids, const struct finding *race, const struct deadlock_finding *deadlock)
{
    return !findings_listed(ids, race ? race->id : deadlock->id);
}

uint64_t findings_subtract(struct findings *f, const struct findings *known)
{
    struct intern ids = { 0 };
    uint64_t gone;

    findings_list_ids(known, &ids);
    gone = findings_keep(f, is_new, &ids);
    intern_release(&ids);
    return gone;
}

bool location_split(const char *location, size_t *file_len, uint32_t *line, uint32_t *column)
{
    uint32_t numbers[2] = { 0, 0 };
    size_t end = strlen(location), n = 0;

    while (n < 2) {
        size_t start = end;

        while (start > 0 && location[start - 1] >= '0' && location[start - 1] <= '9')
            start--;
        if (start == end || start < 2 || location[start - 1] != ':' || end - start > 9 ||
            location[start] == '0')
            break; /* so that file:line:column always gives back the same text */
        numbers[n++] = (uint32_t)strtoul(location + start, NULL, 10);
        end = start - 1;
    }
    if (n == 0)
        return false;
    *file_len = end;
    *line = numbers[n - 1];
    *column = n == 2 ? numbers[0] : 0;
    return true;
}

/* Engines that compare with happens-before, of all or of those that found it. */
static bool is_any_observing(const struct findings *f, uint64_t engines)
{
    static const char *const observing[] = { "fasttrack", "hb", "shb", "sshb", "litehb", "fullhb" };

    for (size_t i = 0; i < f->nengines; i++)
        for (size_t k = 0; k < sizeof(observing) / sizeof(*observing); k++)
            if (engines >> i & 1 && strcmp(f->engines[i].name, observing[k]) == 0)
                return true;
    return false;
}

/* Do only engines have it that predict? */
static bool is_predicted(const struct findings *f, const struct finding *r)
{
    return !is_any_observing(f, r->engines);
}

static bool was_interrupted(const struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++)
        for (size_t k = 0; k < f->engines[i].ncounters; k++)
            if (strcmp(f->engines[i].counters[k].name, "interrupted") == 0)
                return true;
    return false;
}

/* Why a race that happens-before leaves open is not `observed`. */
static const char *doubt_of(const struct findings *f, const struct finding *r,
                            const struct trace *t)
{
    if (r->strength != STRENGTH_MAYBE && r->strength != STRENGTH_GUARANTEED)
        return NULL;
    if (is_predicted(f, r))
        return NULL;
    if (trace_doubt(t))
        return trace_doubt(t);
    if (was_interrupted(f))
        return "the analysis was interrupted before it was decided";
    return f->trace.calls ? "calls of code that was not traced may order the two accesses" : NULL;
}

/* ---- what follows from what ---- */

/* From pairs of places to the findings that have them, numbered from 1; 0: none. */
static void find_causes(struct findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct finding *r = &f->races[i];
        const uint32_t *cause = r->cause ? map_get(&f->by_locations, r->cause - 1) : NULL;

        r->cause = cause && *cause != i ? (uint64_t)*cause + 1 : 0;
        r->serial = i + 1;
    }
}

/* Where the `n` findings that were numbered are after sorting; some have been dropped since, and
 * are at f->count. */
static size_t *find_places(const struct findings *f, size_t n)
{
    size_t *place = xcalloc(n + 1, sizeof(*place));

    for (size_t i = 0; i <= n; i++)
        place[i] = f->count;
    for (size_t i = 0; i < f->count; i++)
        place[f->races[i].serial] = i;
    return place;
}

/* Only an observed race needs a cause. A free cannot be made atomic; nor can a race follow from one
 * that follows from another. */
static bool is_cause(const struct finding *cause, const struct finding *r)
{
    return r->strength == STRENGTH_OBSERVED && !cause->cause && !cause->follows &&
           !cause->descriptor && strcmp(cause->sides[0].op, "free") != 0 &&
           strcmp(cause->sides[1].op, "free") != 0;
}

static void name_causes(struct findings *f, size_t numbered)
{
    size_t *place = find_places(f, numbered);

    for (size_t i = 0; i < f->count; i++) {
        struct finding *r = &f->races[i];
        size_t at = r->cause ? place[r->cause] : f->count;

        if (at < f->count && is_cause(&f->races[at], r))
            r->follows = f->races[at].id;
    }
    free(place);
    for (size_t i = 0; i < f->count; i++)
        f->races[i].cause = 0;
}

void findings_phrase_cause(const struct findings *f, const struct finding *r, struct buf *b)
{
    if (!r->follows)
        return;
    buf_addf(b, "%s from race ", r->may_follow ? "may follow" : "follows");
    if (r->cause)
        buf_addf(b, "%" PRIu64 ": if %s were atomic", r->cause, f->races[r->cause - 1].variable);
    else
        buf_addf(b, "%s, which is not listed: if its accesses were atomic", r->follows);
    buf_addf(b, "%s, this would be ordered", r->may_follow ? " and the read saw the write" : "");
}

void findings_link(struct findings *f)
{
    struct intern ids = { 0 };
    bool any = false;

    for (size_t i = 0; i < f->count; i++) {
        f->races[i].cause = 0;
        any |= f->races[i].follows != NULL;
    }
    if (!any)
        return;
    findings_list_ids(f, &ids);
    for (size_t i = 0; i < f->count; i++) {
        const char *id = f->races[i].follows;
        uint32_t n = id ? intern_find(&ids, id, strlen(id)) : INTERN_NONE;

        if (n < f->count && n != i && strcmp(f->races[n].id, id) == 0)
            f->races[i].cause = (uint64_t)n + 1;
    }
    intern_release(&ids);
}

void findings_group(struct findings *f)
{
    size_t *behind = xcalloc(f->count + 2, sizeof(*behind)), *place, n = 0;
    struct finding *old = f->races;

    findings_link(f);
    place = xcalloc(f->count + 1, sizeof(*place));
    for (size_t i = 0; i < f->count; i++) /* how many stand behind it */
        behind[old[i].cause]++;
    for (size_t i = 0; i < f->count; i++) {
        if (old[i].cause)
            continue;
        place[i] = n++;
        n += behind[i + 1];
        behind[i + 1] = place[i] + 1; /* now: where the next of them goes */
    }
    for (size_t i = 0; i < f->count; i++)
        if (old[i].cause)
            place[i] = behind[old[i].cause]++;
    f->races = xcalloc(f->cap + 1, sizeof(*f->races));
    for (size_t i = 0; i < f->count; i++)
        f->races[place[i]] = old[i];
    free(place);
    free(behind);
    free(old);
    findings_link(f);
}

int findings_finish(struct findings *f, struct trace *t, struct error *err)
{
    size_t numbered = f->count;

    find_causes(f);
    findings_sort(f);
    if (findings_enrich(f, t, err) < 0)
        return -1;
    findings_drop_untold(f);
    for (size_t i = 0; i < f->count; i++)
        f->races[i].doubt = findings_string(f, doubt_of(f, &f->races[i], t));
    findings_identify(f);
    name_causes(f, numbered);
    findings_group(f);
    return 0;
}

/* A part of an OpenMP program that any thread may run: the runtime gives it a name. */
static bool is_in_openmp_part(const struct finding *r)
{
    for (int i = 0; i < 2; i++)
        if (r->sides[i].thread_name && strncmp(r->sides[i].thread_name, "OpenMP ", 7) == 0)
            return true;
    return false;
}

const char *race_meaning(const struct findings *f, const struct finding *r)
{
    if (r->strength == STRENGTH_MAYBE && is_predicted(f, r) && !is_any_observing(f, UINT64_MAX))
        return "an engine holds an order possible in which nothing orders the two accesses, but no "
               "schedule shows it";
    if (r->strength == STRENGTH_MAYBE && is_predicted(f, r))
        return "synchronisation orders the two accesses in this recording; the engines hold "
               "another order possible, but no schedule shows it";
    if (r->strength == STRENGTH_OBSERVED && r->descriptor)
        return "all synchronisation of this execution was recorded, and none of it orders closing "
               "the descriptor and using it";
    if (r->strength == STRENGTH_OBSERVED && is_in_openmp_part(r))
        return "all synchronisation of this execution was recorded, and none of it orders the two "
               "accesses: OpenMP lets two threads make them, whichever did so here";
    if (r->strength == STRENGTH_MAYBE && r->doubt)
        return "no synchronisation that was recorded orders the two accesses";
    return strength_meaning(r->strength);
}

const char *strength_meaning(enum strength s)
{
    switch (s) {
    case STRENGTH_CONFIRMED:
        return "it happened in the running program: both threads were seen at their accesses, and "
               "nothing in between ordered these";
    case STRENGTH_WITNESSED:
        return "a reordering of the recorded events puts the two accesses next to each other, and "
               "the independent checker accepted it";
    case STRENGTH_OBSERVED:
        return "all synchronisation of this execution was recorded, and none of it orders the two "
               "accesses: by the C and C++ standards the execution has this data race";
    case STRENGTH_GUARANTEED:
        return "no choice of which write each read saw would order the two accesses";
    case STRENGTH_MAYBE:
        return "no synchronisation orders the two accesses in this recording, but which write a "
               "read saw might";
    case STRENGTH_POTENTIAL:
        return "no common lock protects the two accesses, but something else might order them";
    default:
        return "";
    }
}
