/* combine.c - the results of several processes, or of several tests, become one
 *
 * Races are the same when they have the same fingerprint and the same two
 * locations, deadlocks when they have the same fingerprint and the same
 * locations all around: their instances add up, and the strongest is shown. Each says
 * which trace its positions are in.
 *
 * Only the lists are new; strings, stacks and locks stay with the parts, which
 * live as long as the result.
 */
#include "cmd/pipeline.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- engines: parts may have run others, or in another order ---- */

static size_t engine_here(const struct findings *f, const char *name)
{
    size_t i = 0;

    while (i < f->nengines && strcmp(f->engines[i].name, name) != 0)
        i++;
    return i;
}

static uint64_t engines_here(const struct findings *f, const struct findings *from, uint64_t set)
{
    uint64_t here = 0;

    for (size_t i = 0; i < from->nengines; i++)
        if (set >> i & 1)
            here |= UINT64_C(1) << engine_here(f, from->engines[i].name);
    return here;
}

static void add_count(struct findings *f, size_t engine, const struct findings_counter *from)
{
    struct findings_engine *e = &f->engines[engine];
    size_t i = 0;

    while (i < e->ncounters && strcmp(e->counters[i].name, from->name) != 0)
        i++;
    if (i == e->ncounters)
        findings_add_counter(f, engine, from->name, 0);
    e->counters[i].value += from->value;
}

static void add_engines(struct findings *f, const struct findings *from)
{
    for (size_t i = 0; i < from->nengines; i++) {
        const struct findings_engine *e = &from->engines[i];
        size_t here = engine_here(f, e->name);

        if (here == f->nengines)
            findings_add_engine(f, e->name, 0, true);
        f->engines[here].seconds += e->seconds;
        f->engines[here].complete &= e->complete;
        for (size_t k = 0; k < e->ncounters; k++)
            add_count(f, here, &e->counters[k]);
    }
}

/* ---- which tests showed it ---- */

/* A result of one test names it for all its findings. */
static struct findings_tests tests_of(struct findings *f, const struct findings_tests *own,
                                      const char *name)
{
    const char **all;

    if (!name)
        return *own;
    all = arena_alloc(&f->memory, (own->count + 1) * sizeof(*all));
    for (size_t i = 0; i < own->count; i++)
        all[i] = own->names[i];
    all[own->count] = name;
    return (struct findings_tests){ all, own->count + 1 };
}

static int compare_names(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* Tests of findings that are one, each once and in the order of their names. */
struct tests_list {
    const char **names;
    size_t count, cap;
};

static void list_tests(struct tests_list *l, const struct findings_tests *from)
{
    GROW(l->names, l->cap, l->count + from->count);
    for (size_t i = 0; i < from->count; i++)
        l->names[l->count++] = from->names[i];
}

/* The list is empty then. */
static void keep_tests(struct findings *f, struct findings_tests *to, struct tests_list *l)
{
    size_t kept = 0;

    if (l->count)
        qsort(l->names, l->count, sizeof(*l->names), compare_names);
    for (size_t i = 0; i < l->count; i++)
        if (kept == 0 || strcmp(l->names[kept - 1], l->names[i]) != 0)
            l->names[kept++] = l->names[i];
    l->count = 0;
    to->names = arena_alloc(&f->memory, kept * sizeof(*to->names) + 1);
    to->count = kept;
    if (kept)
        memcpy(to->names, l->names, kept * sizeof(*to->names));
}

/* ---- races ---- */

/* Without the "-2" that tells twins within one result apart. */
static int compare_ids(const char *a, const char *b)
{
    size_t n = strcspn(a, "-"), m = strcspn(b, "-");
    int c = strncmp(a, b, n < m ? n : m);

    return c ? c : (n > m) - (n < m);
}

static const char *location(const struct finding *r, bool greater)
{
    const char *a = r->sides[0].location, *b = r->sides[1].location;

    return (strcmp(a, b) > 0) != greater ? b : a;
}

static int compare_races(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    int c = compare_ids(x->id, y->id);

    if (c == 0)
        c = strcmp(location(x, false), location(y, false));
    return c ? c : strcmp(location(x, true), location(y, true));
}

static int compare_strongest_first(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    int c = compare_races(a, b);

    if (c == 0 && x->strength != y->strength)
        c = x->strength < y->strength ? -1 : 1;
    if (c == 0 && (x->witness == NULL) != (y->witness == NULL))
        c = x->witness ? -1 : 1;
    return c ? c : strcmp(x->trace, y->trace);
}

/* All races of the parts, one after the other; the witnesses move. */
static void take_races(struct result *r)
{
    struct findings *f = &r->findings;

    for (size_t i = 0; i < r->nparts; i++) {
        struct findings *from = &r->parts[i].findings;

        GROW(f->races, f->cap, f->count + from->count);
        for (size_t k = 0; k < from->count; k++) {
            struct finding *race = &f->races[f->count++];

            *race = from->races[k];
            race->engines = engines_here(f, from, race->engines);
            if (!race->trace)
                race->trace = from->trace.path;
            race->tests = tests_of(f, &race->tests, from->test);
            from->races[k].witness = NULL;
        }
    }
}

/* The races from `from` on that are the same become the one at `to`. How many they are. */
static size_t merge_same_races(struct findings *f, size_t from, size_t to, struct tests_list *tests)
{
    struct finding first = f->races[from];
    size_t n = 1;

    list_tests(tests, &first.tests);
    for (; from + n < f->count && compare_races(&first, &f->races[from + n]) == 0; n++) {
        const struct finding *r = &f->races[from + n];

        first.count += r->count;
        first.engines |= r->engines;
        list_tests(tests, &r->tests);
        if (!first.follows || !r->follows || strcmp(first.follows, r->follows) != 0)
            first.follows = NULL; /* not in all recordings */
        free(r->witness);
    }
    keep_tests(f, &first.tests, tests);
    f->races[to] = first;
    return n;
}

static void merge_races(struct findings *f)
{
    struct tests_list tests = { 0 };
    size_t kept = 0;

    if (f->count)
        qsort(f->races, f->count, sizeof(*f->races), compare_strongest_first);
    for (size_t i = 0; i < f->count; kept++)
        i += merge_same_races(f, i, kept, &tests);
    f->count = kept;
    free(tests.names);
}

/* ---- deadlocks ---- */

/* Compare two rings of the same length, each from a waiter of its own on. */
static int compare_rings(const struct deadlock_finding *x, size_t i,
                         const struct deadlock_finding *y, size_t k)
{
    int c = 0;

    for (size_t n = 0; n < x->nwaiters && c == 0; n++) {
        const struct waiter *v = &x->waiters[(i + n) % x->nwaiters];
        const struct waiter *w = &y->waiters[(k + n) % x->nwaiters];

        c = strcmp(v->request.location, w->request.location);
        if (c == 0)
            c = strcmp(v->hold_location, w->hold_location);
    }
    return c;
}

/* A ring is listed from its earliest request on, which may be another one in another process: turn
 * it to where its locations come first. */
static size_t ring_start(const struct deadlock_finding *d)
{
    size_t start = 0;

    for (size_t i = 1; i < d->nwaiters; i++)
        if (compare_rings(d, i, d, start) < 0)
            start = i;
    return start;
}

static int compare_deadlocks(const void *a, const void *b)
{
    const struct deadlock_finding *x = a, *y = b;
    int c = compare_ids(x->id, y->id);

    if (c == 0 && x->nwaiters != y->nwaiters)
        c = x->nwaiters < y->nwaiters ? -1 : 1;
    return c ? c : compare_rings(x, ring_start(x), y, ring_start(y));
}

static int compare_strongest_deadlock_first(const void *a, const void *b)
{
    const struct deadlock_finding *x = a, *y = b;
    int c = compare_deadlocks(a, b);

    if (c == 0 && x->strength != y->strength)
        c = x->strength < y->strength ? -1 : 1;
    return c ? c : strcmp(x->trace, y->trace);
}

static void take_deadlocks(struct result *r)
{
    struct findings *f = &r->findings;

    for (size_t i = 0; i < r->nparts; i++) {
        struct findings *from = &r->parts[i].findings;

        GROW(f->deadlocks, f->deadlocks_cap, f->ndeadlocks + from->ndeadlocks);
        for (size_t k = 0; k < from->ndeadlocks; k++) {
            struct deadlock_finding *d = &f->deadlocks[f->ndeadlocks++];

            *d = from->deadlocks[k];
            d->engines = engines_here(f, from, d->engines);
            if (!d->trace)
                d->trace = from->trace.path;
            d->tests = tests_of(f, &d->tests, from->test);
            from->deadlocks[k].witness = NULL;
        }
    }
}

static size_t merge_same_deadlocks(struct findings *f, size_t from, size_t to,
                                   struct tests_list *tests)
{
    struct deadlock_finding first = f->deadlocks[from];
    size_t n = 1;

    list_tests(tests, &first.tests);
    for (; from + n < f->ndeadlocks && compare_deadlocks(&first, &f->deadlocks[from + n]) == 0;
         n++) {
        const struct deadlock_finding *d = &f->deadlocks[from + n];

        first.count += d->count;
        first.engines |= d->engines;
        list_tests(tests, &d->tests);
        free(d->witness);
    }
    keep_tests(f, &first.tests, tests);
    f->deadlocks[to] = first;
    return n;
}

static void merge_deadlocks(struct findings *f)
{
    struct tests_list tests = { 0 };
    size_t kept = 0;

    if (f->ndeadlocks)
        qsort(f->deadlocks, f->ndeadlocks, sizeof(*f->deadlocks), compare_strongest_deadlock_first);
    for (size_t i = 0; i < f->ndeadlocks; kept++)
        i += merge_same_deadlocks(f, i, kept, &tests);
    f->ndeadlocks = kept;
    free(tests.names);
}

/* ---- the rest ---- */

static void count_findings(struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++) {
        for (size_t k = 0; k < f->count; k++)
            f->engines[i].races += f->races[k].engines >> i & 1;
        for (size_t k = 0; k < f->ndeadlocks; k++)
            f->engines[i].deadlocks += f->deadlocks[k].engines >> i & 1;
    }
}

static void add_total(struct findings_trace *t, const struct findings_counter *from)
{
    size_t i = 0;

    while (i < t->ndiagnosis_totals && strcmp(t->diagnosis_totals[i].name, from->name) != 0)
        i++;
    if (i == t->ndiagnosis_totals)
        t->diagnosis_totals[t->ndiagnosis_totals++] = (struct findings_counter){ from->name, 0 };
    t->diagnosis_totals[i].value += from->value;
}

/* The first few of each kind, of every trace; their positions are in the traces they came from. */
static void add_diagnoses(struct result *r)
{
    struct findings_trace *t = &r->findings.trace;
    size_t n = 0;

    for (size_t i = 0; i < r->nparts; i++)
        n += r->parts[i].findings.trace.ndiagnoses;
    t->diagnoses = arena_alloc(&r->findings.memory, n * sizeof(*t->diagnoses) + 1);
    t->diagnosis_totals =
        arena_alloc(&r->findings.memory, DIAG_KINDS * sizeof(*t->diagnosis_totals));
    for (size_t i = 0; i < r->nparts; i++) {
        const struct findings_trace *from = &r->parts[i].findings.trace;

        for (size_t k = 0; k < from->ndiagnoses; k++)
            t->diagnoses[t->ndiagnoses++] = from->diagnoses[k];
        for (size_t k = 0; k < from->ndiagnosis_totals; k++)
            add_total(t, &from->diagnosis_totals[k]);
    }
}

/* What the traces say about themselves, summed up. */
static void add_trace(struct findings_trace *t, const struct findings_trace *from)
{
    t->events += from->events;
    t->threads += from->threads;
    t->order = from->order > t->order ? from->order : t->order;
    t->values |= from->values;
    t->branches |= from->branches;
    t->calls |= from->calls;
    t->lost_bytes += from->lost_bytes;
    t->loss = t->loss ? t->loss : from->loss;
    t->repaired += from->repaired;
}

void result_combine(struct result *r, const char *shown)
{
    struct findings *f = &r->findings;

    f->trace.path = findings_string(f, shown);
    f->trace.format = r->parts[0].findings.trace.format;
    for (size_t i = 0; i < r->nparts; i++) {
        add_trace(&f->trace, &r->parts[i].findings.trace);
        findings_join_recording(f, &r->parts[i].findings.trace.recording);
        add_engines(f, &r->parts[i].findings);
        for (size_t k = 0; k < r->parts[i].findings.nleft; k++)
            findings_add_left(f, &r->parts[i].findings.left[k]);
    }
    add_diagnoses(r);
    take_races(r);
    merge_races(f);
    take_deadlocks(r);
    merge_deadlocks(f);
    count_findings(f);
    findings_sort(f);
    findings_identify(f);
    findings_group(f);
}
