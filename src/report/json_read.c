/* json_read.c - a result file back into findings
 *
 * jansson parses; everything used is then checked for type and range, with
 * the place of a fault in the message. Members that docs/schema promises are
 * required, what Heddle adds is optional, so results of other tools that keep
 * to the contract can be rendered too. Unknown members are ignored.
 *
 * After the first fault the reader's error is set and every later look-up
 * returns nothing, so callers check once at the end of each part.
 */
#include "report/json.h"
#include "base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

struct reader {
    struct findings *f;
    struct error *err;
    bool failed;
    uint64_t beyond; /* the race at hand has new events up to here (flips); 0: none */
    char path[512];  /* where we are: "races[0].accesses[1]" */
};

enum need { OPTIONAL, REQUIRED };

static const char *const type_names[] = {
    [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",  [JSON_STRING] = "a string",
    [JSON_INTEGER] = "an integer", [JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
    [JSON_FALSE] = "false",        [JSON_NULL] = "null",
};

__attribute__((format(printf, 3, 4))) static void fail(struct reader *r, const char *key,
                                                       const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    error_set(r->err, "%s%s%s%s%s", r->path, r->path[0] && key[0] && key[0] != '[' ? "." : "", key,
              r->path[0] || key[0] ? ": " : "", text);
}

/* Go into a member ("key") or an element ("key[i]"); the returned mark leads back out. */
static size_t go_in(struct reader *r, const char *key, size_t index)
{
    size_t mark = strlen(r->path);

    if (mark + strlen(key) + 32 < sizeof(r->path))
        sprintf(r->path + mark, index == SIZE_MAX ? "%s%s" : "%s%s[%zu]", mark ? "." : "", key,
                index);
    return mark;
}

static void go_out(struct reader *r, size_t mark)
{
    r->path[mark] = 0;
}

static void wrong_type(struct reader *r, const char *key, const char *wanted, const json_t *found)
{
    fail(r, key, "expected %s, not %s", wanted, type_names[json_typeof(found)]);
}

static json_t *member(struct reader *r, const json_t *object, const char *key, enum need need)
{
    json_t *v = r->failed ? NULL : json_object_get(object, key);

    if (!v && need == REQUIRED)
        fail(r, "", "'%s' is missing", key);
    return v;
}

static json_t *get_typed(struct reader *r, const json_t *object, const char *key, enum need need,
                         json_type type)
{
    json_t *v = member(r, object, key, need);

    if (v && json_typeof(v) != type) {
        wrong_type(r, key, type_names[type], v);
        return NULL;
    }
    return v;
}

static const char *get_string(struct reader *r, const json_t *object, const char *key,
                              enum need need)
{
    json_t *v = get_typed(r, object, key, need, JSON_STRING);

    if (!v)
        return need == REQUIRED ? "" : NULL;
    return findings_string(r->f, json_string_value(v));
}

static uint64_t get_number(struct reader *r, const json_t *object, const char *key, enum need need)
{
    json_t *v = get_typed(r, object, key, need, JSON_INTEGER);

    if (v && json_integer_value(v) < 0) {
        fail(r, key, "%lld is negative", (long long)json_integer_value(v));
        return 0;
    }
    return v ? (uint64_t)json_integer_value(v) : 0;
}

static bool get_bool(struct reader *r, const json_t *object, const char *key, enum need need)
{
    json_t *v = member(r, object, key, need);

    if (v && !json_is_boolean(v))
        wrong_type(r, key, "true or false", v);
    return v && json_is_true(v);
}

static double get_seconds(struct reader *r, const json_t *object, const char *key)
{
    json_t *v = member(r, object, key, REQUIRED);

    if (v && !json_is_number(v))
        wrong_type(r, key, "a number", v);
    else if (v && !(json_number_value(v) >= 0 && json_number_value(v) < 1e12))
        fail(r, key, "%g is no time in seconds", json_number_value(v));
    return v ? json_number_value(v) : 0;
}

/* The place of a text in a list of names; fails where it is not one of them. */
static int get_choice(struct reader *r, const json_t *object, const char *key,
                      const char *const *names, int n)
{
    const char *text = get_string(r, object, key, REQUIRED);

    for (int i = 0; i < n && !r->failed; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    fail(r, key, "unknown value '%s'", text);
    return 0;
}

static bool is_event(const struct reader *r, uint64_t event)
{
    return event < r->f->trace.events || event < r->beyond;
}

static uint64_t get_event(struct reader *r, const json_t *object, const char *key, enum need need)
{
    uint64_t event = get_number(r, object, key, need);

    if (!r->failed && json_object_get(object, key) && !is_event(r, event))
        fail(r, key, "there is no event %" PRIu64 " in a trace of %" PRIu64, event,
             r->f->trace.events);
    return event;
}

/* Number of elements; *list is NULL where the array is absent. */
static size_t get_array(struct reader *r, const json_t *object, const char *key, enum need need,
                        json_t **list)
{
    *list = get_typed(r, object, key, need, JSON_ARRAY);
    return *list ? json_array_size(*list) : 0;
}

/* The i-th element of an array of objects. */
static json_t *get_object(struct reader *r, const json_t *list, size_t i)
{
    json_t *v = json_array_get(list, i);

    if (!r->failed && !json_is_object(v))
        wrong_type(r, "", "an object", v);
    return r->failed ? NULL : v;
}

static void *new_array(struct reader *r, size_t n, size_t bytes)
{
    return n ? memset(arena_alloc(&r->f->memory, n * bytes), 0, n * bytes) : NULL;
}

static void read_diagnoses(struct reader *r, const json_t *o)
{
    struct findings_trace *t = &r->f->trace;
    json_t *list, *totals, *value;
    const char *key;
    size_t n = get_array(r, o, "diagnoses", OPTIONAL, &list);

    t->diagnoses = new_array(r, n, sizeof(*t->diagnoses));
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "diagnoses", i);
        json_t *d = get_object(r, list, i);

        t->diagnoses[i].kind = get_string(r, d, "kind", REQUIRED);
        t->diagnoses[i].event = get_number(r, d, "event", REQUIRED);
        t->diagnoses[i].text = get_string(r, d, "text", REQUIRED);
        t->ndiagnoses = i + 1;
        go_out(r, mark);
    }
    totals = get_typed(r, o, "diagnosed", OPTIONAL, JSON_OBJECT);
    t->diagnosis_totals =
        new_array(r, totals ? json_object_size(totals) : 0, sizeof(*t->diagnosis_totals));
    json_object_foreach(totals, key, value)
    {
        struct findings_counter *c = &t->diagnosis_totals[t->ndiagnosis_totals++];

        c->name = findings_string(r->f, key);
        c->value = get_number(r, totals, key, REQUIRED);
    }
}

/* Each text of an array. */
static void read_texts(struct reader *r, const json_t *o, const char *key,
                       void (*add)(struct findings *f, const char *text))
{
    json_t *list;
    size_t n = get_array(r, o, key, OPTIONAL, &list);

    for (size_t i = 0; i < n && !r->failed; i++) {
        json_t *v = json_array_get(list, i);
        size_t mark = go_in(r, key, i);

        if (json_is_string(v))
            add(r->f, json_string_value(v));
        else
            wrong_type(r, "", "a string", v);
        go_out(r, mark);
    }
}

static void add_traced(struct findings *f, const char *path)
{
    findings_add_module(f, path, true);
}

static void add_untraced(struct findings *f, const char *path)
{
    findings_add_module(f, path, false);
}

static void read_recording(struct reader *r, const json_t *o)
{
    json_t *modules = get_typed(r, o, "modules", OPTIONAL, JSON_OBJECT), *value;
    json_t *counters = get_typed(r, o, "recorded", OPTIONAL, JSON_OBJECT);
    const char *key;

    r->f->trace.recording.processes = get_number(r, o, "processes", OPTIONAL);
    read_texts(r, modules, "traced", add_traced);
    read_texts(r, modules, "untraced", add_untraced);
    json_object_foreach(counters, key, value)
        findings_add_recorded(r->f, key, get_number(r, counters, key, REQUIRED));
    read_texts(r, o, "notes", findings_add_note);
}

static void json_read_read_trace(struct reader *r, const json_t *root)
{
    struct findings_trace *t = &r->f->trace;
    json_t *o = get_typed(r, root, "trace", REQUIRED, JSON_OBJECT), *lost;
    size_t mark = go_in(r, "trace", SIZE_MAX);

    t->path = get_string(r, o, "path", REQUIRED);
    t->format = get_string(r, o, "format", OPTIONAL);
    t->events = get_number(r, o, "events", REQUIRED);
    t->threads = get_number(r, o, "threads", REQUIRED);
    t->order = (enum trace_order)get_choice(r, o, "order", trace_order_names, 3);
    t->values = get_bool(r, o, "values", REQUIRED);
    t->branches = get_bool(r, o, "branches", OPTIONAL);
    t->calls = get_bool(r, o, "calls", OPTIONAL);
    t->repaired = get_number(r, o, "repaired", OPTIONAL);
    lost = get_typed(r, o, "lost", OPTIONAL, JSON_OBJECT);
    if (lost) {
        size_t inner = go_in(r, "lost", SIZE_MAX);

        t->lost_bytes = get_number(r, lost, "bytes", REQUIRED);
        t->loss = get_string(r, lost, "reason", REQUIRED);
        go_out(r, inner);
    }
    read_diagnoses(r, o);
    read_recording(r, o);
    go_out(r, mark);
}

static void read_engine(struct reader *r, const json_t *o)
{
    const char *name = get_string(r, o, "name", REQUIRED);
    double seconds = get_seconds(r, o, "seconds");
    bool complete = get_bool(r, o, "complete", REQUIRED);
    uint64_t races = get_number(r, o, "races", REQUIRED);
    uint64_t deadlocks = get_number(r, o, "deadlocks", OPTIONAL);
    json_t *counters = get_typed(r, o, "counters", OPTIONAL, JSON_OBJECT), *value;
    const char *key;
    size_t at;

    for (size_t i = 0; i < r->f->nengines && !r->failed; i++)
        if (strcmp(r->f->engines[i].name, name) == 0)
            fail(r, "name", "engine '%s' is listed twice", name);
    if (r->failed)
        return;
    at = findings_add_engine(r->f, name, seconds, complete);
    r->f->engines[at].races = races;
    r->f->engines[at].deadlocks = deadlocks;
    json_object_foreach(counters, key, value)
        findings_add_counter(r->f, at, key, get_number(r, counters, key, REQUIRED));
}

static void read_engines(struct reader *r, const json_t *root)
{
    json_t *list;
    size_t n = get_array(r, root, "engines", REQUIRED, &list);

    if (n > FINDINGS_ENGINES)
        fail(r, "engines", "more than %d engines", FINDINGS_ENGINES);
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "engines", i);

        read_engine(r, get_object(r, list, i));
        go_out(r, mark);
    }
}

static void read_left(struct reader *r, const json_t *root)
{
    json_t *list, *calls;
    size_t n = get_array(r, root, "left_out", OPTIONAL, &list);

    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "left_out", i);
        const json_t *o = get_object(r, list, i);
        struct findings_left left = { .first = get_string(r, o, "first", REQUIRED),
                                      .second = get_string(r, o, "second", REQUIRED) };
        size_t ncalls = get_array(r, o, "calls", REQUIRED, &calls);

        for (size_t k = 0; k < ncalls && k < 3; k++)
            left.calls[k] = json_string_value(json_array_get(calls, k));
        if (!r->failed)
            findings_add_left(r->f, &left);
        go_out(r, mark);
    }
}

static void read_frame(struct reader *r, const json_t *o, struct frame *frame)
{
    const char *file = get_string(r, o, "file", OPTIONAL);
    uint64_t line = get_number(r, o, "line", OPTIONAL);
    uint64_t column = get_number(r, o, "column", OPTIONAL);

    frame->function = get_string(r, o, "function", OPTIONAL);
    frame->location = get_string(r, o, "location", OPTIONAL);
    frame->inlined = get_bool(r, o, "inlined", OPTIONAL);
    if (file && !frame->location) {
        char *text = !line    ? xasprintf("%s", file)
                     : column ? xasprintf("%s:%" PRIu64 ":%" PRIu64, file, line, column)
                              : xasprintf("%s:%" PRIu64, file, line);

        frame->location = findings_string(r->f, text);
        free(text);
    }
    if (!frame->function && !frame->location)
        fail(r, "", "a frame needs a function or a location");
}

static void read_stack(struct reader *r, const json_t *o, struct stack *s)
{
    json_t *list;
    size_t n = get_array(r, o, "stack", OPTIONAL, &list);
    struct frame *frames = new_array(r, n, sizeof(*frames));

    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "stack", i);

        read_frame(r, get_object(r, list, i), &frames[i]);
        go_out(r, mark);
    }
    s->frames = frames;
    s->count = n;
    s->omitted = get_number(r, o, "stack_omitted", OPTIONAL);
}

/* "held" says more than "locks" and must agree with it. */
static void read_held(struct reader *r, const json_t *o, struct held_lock *locks, size_t n)
{
    json_t *list;
    size_t held = get_array(r, o, "held", OPTIONAL, &list);

    if (list && held != n)
        fail(r, "held", "%zu locks, but 'locks' has %zu", held, n);
    for (size_t i = 0; i < held && !r->failed; i++) {
        size_t mark = go_in(r, "held", i);
        json_t *h = get_object(r, list, i);

        if (get_string(r, h, "lock", REQUIRED) != locks[i].name)
            fail(r, "lock", "does not agree with 'locks'");
        locks[i].shared = get_bool(r, h, "shared", OPTIONAL);
        locks[i].only_here = get_bool(r, h, "only_here", OPTIONAL);
        locks[i].location = get_string(r, h, "location", OPTIONAL);
        locks[i].event = get_event(r, h, "event", locks[i].location ? REQUIRED : OPTIONAL);
        read_stack(r, h, &locks[i].stack);
        go_out(r, mark);
    }
}

static void read_locks(struct reader *r, const json_t *o, struct side *s)
{
    json_t *list;
    size_t n = get_array(r, o, "locks", OPTIONAL, &list);
    struct held_lock *locks = new_array(r, n, sizeof(*locks));

    for (size_t i = 0; i < n && !r->failed; i++) {
        json_t *v = json_array_get(list, i);
        size_t mark = go_in(r, "locks", i);

        if (json_is_string(v))
            locks[i].name = findings_string(r->f, json_string_value(v));
        else
            wrong_type(r, "", "a string", v);
        go_out(r, mark);
    }
    read_held(r, o, locks, n);
    s->locks_unknown = get_bool(r, o, "locks_unknown", OPTIONAL);
    s->locks = locks;
    s->nlocks = n;
}

static void read_source(struct reader *r, const json_t *o, struct side *s)
{
    json_t *source = get_typed(r, o, "source", OPTIONAL, JSON_OBJECT), *list;
    size_t mark = go_in(r, "source", SIZE_MAX);
    struct excerpt *x;

    if (source) {
        x = new_array(r, 1, sizeof(*x));
        x->location = get_string(r, source, "location", REQUIRED);
        x->first = get_number(r, source, "line", REQUIRED);
        x->marked = get_number(r, source, "marked", REQUIRED);
        x->count = get_array(r, source, "text", REQUIRED, &list);
        if (!r->failed && x->count > EXCERPT_LINES)
            fail(r, "text", "more than %d lines", EXCERPT_LINES);
        for (size_t i = 0; i < x->count && !r->failed; i++) {
            x->lines[i] = findings_string(r->f, json_string_value(json_array_get(list, i)));
            if (!x->lines[i])
                wrong_type(r, "text", "strings", json_array_get(list, i));
        }
        s->source = x;
    }
    go_out(r, mark);
}

static void read_creation(struct reader *r, const json_t *o, struct side *s)
{
    json_t *created = get_typed(r, o, "created", OPTIONAL, JSON_OBJECT);
    size_t mark = go_in(r, "created", SIZE_MAX);

    if (created) {
        s->creator = get_string(r, created, "thread", REQUIRED);
        s->created_at = get_string(r, created, "location", REQUIRED);
        s->created_event = get_event(r, created, "event", REQUIRED);
        read_stack(r, created, &s->created_stack);
    }
    go_out(r, mark);
}

static void read_side(struct reader *r, const json_t *o, struct side *s)
{
    s->event = get_event(r, o, "event", REQUIRED);
    s->thread = get_string(r, o, "thread", REQUIRED);
    s->thread_name = get_string(r, o, "thread_name", OPTIONAL);
    s->op = get_string(r, o, "op", REQUIRED);
    s->order = get_string(r, o, "order", OPTIONAL);
    s->location = get_string(r, o, "location", REQUIRED);
    s->function = get_string(r, o, "function", OPTIONAL);
    s->symbol = get_string(r, o, "symbol", OPTIONAL);
    s->bytes = get_number(r, o, "bytes", OPTIONAL);
    s->value = get_string(r, o, "value", OPTIONAL);
    s->old = get_string(r, o, "old", OPTIONAL);
    read_locks(r, o, s);
    read_stack(r, o, &s->stack);
    read_source(r, o, s);
    read_creation(r, o, s);
}

static void read_allocation(struct reader *r, const json_t *o, struct finding *race)
{
    json_t *a = get_typed(r, o, "allocated", OPTIONAL, JSON_OBJECT);
    size_t mark = go_in(r, "allocated", SIZE_MAX);

    if (a) {
        race->allocation = new_array(r, 1, sizeof(*race->allocation));
        race->allocation->thread = get_string(r, a, "thread", REQUIRED);
        race->allocation->location = get_string(r, a, "location", REQUIRED);
        race->allocation->event = get_event(r, a, "event", REQUIRED);
        race->allocation->bytes = get_number(r, a, "bytes", REQUIRED);
        race->allocation->offset = get_number(r, a, "offset", REQUIRED);
        race->allocation->is_stack = get_bool(r, a, "is_stack", OPTIONAL);
        race->allocation->maybe_local = get_bool(r, a, "maybe_thread_local", OPTIONAL);
        read_stack(r, a, &race->allocation->stack);
    }
    go_out(r, mark);
}

/* The list, to be freed, or NULL. */
static uint64_t *read_witness(struct reader *r, const json_t *o, size_t *count)
{
    json_t *list;
    size_t n = get_array(r, o, "witness", OPTIONAL, &list);
    uint64_t *witness;

    if (!list)
        return NULL;
    witness = xcalloc(n + 1, sizeof(*witness));
    *count = n;
    for (size_t i = 0; i < n && !r->failed; i++) {
        json_t *v = json_array_get(list, i);
        size_t mark = go_in(r, "witness", i);

        if (!json_is_integer(v))
            wrong_type(r, "", "an integer", v);
        else if (json_integer_value(v) < 0 || !is_event(r, (uint64_t)json_integer_value(v)))
            fail(r, "", "there is no event %lld in a trace of %" PRIu64,
                 (long long)json_integer_value(v), r->f->trace.events);
        else
            witness[i] = (uint64_t)json_integer_value(v);
        go_out(r, mark);
    }
    return witness;
}

static size_t read_schedule(struct reader *r, const json_t *o, const uint64_t *witness,
                            size_t nwitness, const struct schedule_step **schedule)
{
    json_t *list;
    size_t n = get_array(r, o, "schedule", OPTIONAL, &list);
    struct schedule_step *steps = new_array(r, n, sizeof(*steps));

    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "schedule", i);
        json_t *s = get_object(r, list, i);

        steps[i].index = get_number(r, s, "step", REQUIRED);
        steps[i].event = get_event(r, s, "event", REQUIRED);
        steps[i].thread = get_string(r, s, "thread", REQUIRED);
        steps[i].operation = get_string(r, s, "operation", REQUIRED);
        steps[i].location = get_string(r, s, "location", REQUIRED);
        if (!r->failed && (steps[i].index >= nwitness || witness[steps[i].index] != steps[i].event))
            fail(r, "step", "does not agree with the witness");
        go_out(r, mark);
    }
    *schedule = steps;
    return n;
}

static uint64_t read_found_by(struct reader *r, const json_t *o)
{
    json_t *list;
    size_t n = get_array(r, o, "engines", REQUIRED, &list);
    uint64_t engines = 0;

    for (size_t i = 0; i < n && !r->failed; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t mark = go_in(r, "engines", i), e = 0;

        while (name && e < r->f->nengines && strcmp(r->f->engines[e].name, name) != 0)
            e++;
        if (!name)
            wrong_type(r, "", "a string", json_array_get(list, i));
        else if (e == r->f->nengines)
            fail(r, "", "engine '%s' is not in 'engines' of the result", name);
        else
            engines |= (uint64_t)1 << e;
        go_out(r, mark);
    }
    return engines;
}

static void read_address(struct reader *r, const json_t *o, struct finding *race)
{
    const char *text = get_string(r, o, "address", OPTIONAL);
    char *end;

    race->bytes = get_number(r, o, "bytes", text ? REQUIRED : OPTIONAL);
    if (!text || r->failed)
        return;
    race->address = strtoull(text, &end, 16);
    if (strncmp(text, "0x", 2) != 0 || !text[2] || *end)
        fail(r, "address", "'%s' is no address", text);
}

static void read_tests(struct reader *r, const json_t *o, struct findings_tests *tests)
{
    json_t *list;
    size_t n = get_array(r, o, "tests", OPTIONAL, &list);

    tests->names = new_array(r, n, sizeof(*tests->names));
    for (size_t i = 0; i < n && !r->failed; i++) {
        const json_t *name = json_array_get(list, i);

        if (!json_is_string(name))
            fail(r, "tests", "names are strings");
        else
            tests->names[tests->count++] = findings_string(r->f, json_string_value(name));
    }
}

static void read_new_events(struct reader *r, const json_t *o, struct finding_flip *flip)
{
    json_t *list;
    size_t n = get_array(r, o, "events", REQUIRED, &list);

    if (!r->failed && n != flip->nevents)
        fail(r, "events", "there are %zu, not %" PRIu64, n, flip->nevents);
    flip->steps = new_array(r, n, sizeof(*flip->steps));
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "events", i);
        const json_t *x = get_object(r, list, i);

        flip->steps[i] =
            (struct schedule_step){ .index = i,
                                    .event = flip->first + i,
                                    .thread = flip->thread,
                                    .operation = get_string(r, x, "operation", REQUIRED),
                                    .location = get_string(r, x, "location", REQUIRED) };
        go_out(r, mark);
    }
}

static void read_flips(struct reader *r, const json_t *o, struct finding *race)
{
    enum { FLIP_EVENTS = 1 << 20 }; /* of one: more than any analysis makes */
    json_t *list;
    size_t n = get_array(r, o, "flips", OPTIONAL, &list);

    if (n > 2)
        fail(r, "flips", "a race has two accesses, not %zu", n);
    race->flips = new_array(r, n, sizeof(*race->flips));
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "flips", i);
        const json_t *x = get_object(r, list, i);
        struct finding_flip *flip = &race->flips[race->nflips++];

        flip->event = get_number(r, x, "event", REQUIRED);
        flip->thread = get_string(r, x, "thread", REQUIRED);
        flip->location = get_string(r, x, "location", REQUIRED);
        flip->outcome = get_number(r, x, "outcome", REQUIRED);
        flip->by_value = get_bool(r, x, "by_value", OPTIONAL);
        flip->path = get_number(r, x, "path", REQUIRED);
        flip->first = get_number(r, x, "first_new", REQUIRED);
        flip->nevents = get_number(r, x, "new_events", REQUIRED);
        flip->access = get_number(r, x, "access", REQUIRED);
        flip->side = (unsigned)get_number(r, x, "side", REQUIRED);
        if (!r->failed && (flip->side > 1 || flip->access - flip->first >= flip->nevents))
            fail(r, "access", "is no event of the flip");
        if (flip->first < r->f->trace.events || flip->nevents > FLIP_EVENTS)
            fail(r, "first_new", "new events are behind those of the trace");
        if (!r->failed)
            read_new_events(r, x, flip);
        if (!r->failed && flip->first + flip->nevents > r->beyond)
            r->beyond = flip->first + flip->nevents;
        go_out(r, mark);
    }
}

static bool read_value(struct reader *r, const json_t *o, const char *key, uint64_t *value)
{
    const char *text = get_string(r, o, key, OPTIONAL);
    char *end;

    if (!text)
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (!*text || *end || errno)
        fail(r, key, "is no number");
    return true;
}

static uint64_t read_position(struct reader *r, const json_t *o, const char *key)
{
    return json_object_get(o, key) ? get_number(r, o, key, REQUIRED) : UINT64_MAX;
}

static void read_changes(struct reader *r, const json_t *o, struct finding *race)
{
    json_t *list;
    size_t n = get_array(r, o, "changes", OPTIONAL, &list);

    race->changes = new_array(r, n, sizeof(*race->changes));
    race->nchanges = n;
    race->by_values = json_object_get(o, "changes") != NULL;
    for (size_t i = 0; i < n && !r->failed; i++) {
        struct finding_change *c = &race->changes[i];
        size_t mark = go_in(r, "changes", i);
        json_t *x = get_object(r, list, i);

        c->event = get_number(r, x, "event", REQUIRED);
        c->writer = read_position(r, x, "writer");
        c->branch = read_position(r, x, "branch");
        c->thread = get_string(r, x, "thread", OPTIONAL);
        c->variable = get_string(r, x, "variable", OPTIONAL);
        c->location = get_string(r, x, "location", OPTIONAL);
        c->written_at = get_string(r, x, "written_at", OPTIONAL);
        c->branch_at = get_string(r, x, "branch_at", OPTIONAL);
        c->has_value = read_value(r, x, "value", &c->value);
        c->has_recorded = read_value(r, x, "recorded", &c->recorded);
        go_out(r, mark);
    }
}

static void read_race(struct reader *r, const json_t *o, struct finding *race)
{
    json_t *list;
    size_t n;

    race->id = get_string(r, o, "id", REQUIRED);
    race->trace = get_string(r, o, "trace", OPTIONAL);
    race->variable = get_string(r, o, "variable", REQUIRED);
    read_address(r, o, race);
    race->strength = (enum strength)get_choice(r, o, "strength", strength_names, STRENGTH_COUNT);
    race->may_follow = json_object_get(o, "may_follow_from") != NULL;
    race->follows =
        get_string(r, o, race->may_follow ? "may_follow_from" : "follows_from", OPTIONAL);
    race->doubt = get_string(r, o, "doubt", OPTIONAL);
    race->confirmation = get_string(r, o, "confirmation", OPTIONAL);
    race->tries = get_number(r, o, "tries", OPTIONAL);
    race->confirmation_reason = get_string(r, o, "confirmation_reason", OPTIONAL);
    race->independent = get_bool(r, o, "independent", OPTIONAL);
    race->decided_by = get_string(r, o, "decided_by", OPTIONAL);
    race->count = get_number(r, o, "count", REQUIRED);
    race->engines = read_found_by(r, o);
    read_tests(r, o, &race->tests);
    r->beyond = 0;
    read_flips(r, o, race);
    n = get_array(r, o, "accesses", REQUIRED, &list);
    if (!r->failed && n != 2)
        fail(r, "accesses", "a race has two accesses, not %zu", n);
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "accesses", i);

        read_side(r, get_object(r, list, i), &race->sides[i]);
        go_out(r, mark);
    }
    if (!r->failed && race->sides[0].event >= race->sides[1].event)
        fail(r, "accesses", "not in trace order");
    for (size_t i = 0; i < race->nflips && !r->failed; i++)
        race->sides[race->flips[i].side].unexecuted = true;
    read_allocation(r, o, race);
    race->thread_local_of = get_string(r, o, "thread_local_of", OPTIONAL);
    race->descriptor = get_string(r, o, "kind", OPTIONAL) != NULL;
    read_changes(r, o, race);
    race->after = get_number(r, o, "after", OPTIONAL);
    race->part = get_number(r, o, "part", OPTIONAL);
    race->long_witness = get_number(r, o, "long_witness", OPTIONAL);
    race->witness = read_witness(r, o, &race->nwitness);
    race->switches = get_number(r, o, "switches", OPTIONAL);
    race->nschedule = read_schedule(r, o, race->witness, race->nwitness, &race->schedule);
}

static void read_races(struct reader *r, const json_t *root)
{
    json_t *list;
    size_t n = get_array(r, root, "races", REQUIRED, &list);

    GROW(r->f->races, r->f->cap, n + 1);
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "races", i);

        r->f->count = i + 1; /* the array's memory is zeroed */
        read_race(r, get_object(r, list, i), &r->f->races[i]);
        go_out(r, mark);
    }
    r->beyond = 0;
}

/* Who has the lock: must be the next request's thread. */
static void read_holder(struct reader *r, const json_t *o, struct waiter *w, const char **thread)
{
    json_t *holder = get_typed(r, o, "holder", REQUIRED, JSON_OBJECT);
    size_t mark = go_in(r, "holder", SIZE_MAX);

    *thread = get_string(r, holder, "thread", REQUIRED);
    w->hold_location = get_string(r, holder, "location", REQUIRED);
    w->hold_event = get_event(r, holder, "event", REQUIRED);
    go_out(r, mark);
}

static void read_requests(struct reader *r, const json_t *o, struct deadlock_finding *d)
{
    json_t *list;
    size_t n = get_array(r, o, "requests", REQUIRED, &list);
    const char **holders = new_array(r, n, sizeof(*holders));

    if (!r->failed && n < 1)
        fail(r, "requests", "a deadlock has a request or more, not %zu", n);
    d->waiters = new_array(r, n, sizeof(*d->waiters));
    d->nwaiters = n;
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "requests", i);
        json_t *request = get_object(r, list, i);

        d->waiters[i].lock = get_string(r, request, "lock", REQUIRED);
        read_holder(r, request, &d->waiters[(i + 1) % n], &holders[i]);
        read_side(r, request, &d->waiters[i].request);
        go_out(r, mark);
    }
    for (size_t i = 0; i < n && !r->failed; i++)
        if (holders[i] != deadlock_holder(d, i)->request.thread)
            fail(r, "requests", "%s waits for %s, which is not the thread of the next request",
                 d->waiters[i].request.thread, holders[i]);
}

static void read_deadlock(struct reader *r, const json_t *o, struct deadlock_finding *d)
{
    d->id = get_string(r, o, "id", REQUIRED);
    d->trace = get_string(r, o, "trace", OPTIONAL);
    d->engines = read_found_by(r, o);
    d->strength = (enum strength)get_choice(r, o, "strength", strength_names, STRENGTH_COUNT);
    d->count = get_number(r, o, "count", REQUIRED);
    read_tests(r, o, &d->tests);
    read_requests(r, o, d);
    d->long_witness = get_number(r, o, "long_witness", OPTIONAL);
    d->witness = read_witness(r, o, &d->nwitness);
    d->switches = get_number(r, o, "switches", OPTIONAL);
    d->nschedule = read_schedule(r, o, d->witness, d->nwitness, &d->schedule);
}

static void read_deadlocks(struct reader *r, const json_t *root)
{
    json_t *list;
    size_t n = get_array(r, root, "deadlocks", OPTIONAL, &list);

    GROW(r->f->deadlocks, r->f->deadlocks_cap, n + 1);
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "deadlocks", i);

        r->f->ndeadlocks = i + 1; /* the array's memory is zeroed */
        read_deadlock(r, get_object(r, list, i), &r->f->deadlocks[i]);
        go_out(r, mark);
    }
}

static void read_rules(struct reader *r, const json_t *root)
{
    json_t *list;
    size_t n = get_array(r, root, "suppressions", OPTIONAL, &list);

    r->f->rules = arena_alloc(&r->f->memory, (n + 1) * sizeof(*r->f->rules));
    for (size_t i = 0; i < n && !r->failed; i++) {
        size_t mark = go_in(r, "suppressions", i);
        const json_t *o = get_object(r, list, i);
        struct findings_rule rule = { .text = get_string(r, o, "rule", REQUIRED),
                                      .file = get_string(r, o, "file", REQUIRED),
                                      .line = get_number(r, o, "line", REQUIRED),
                                      .count = get_number(r, o, "count", REQUIRED) };

        r->f->rules[r->f->nrules++] = rule;
        go_out(r, mark);
    }
    r->f->baseline = get_string(r, root, "baseline", OPTIONAL);
    r->f->known = get_number(r, root, "known", OPTIONAL);
}

static void read_root(struct reader *r, const json_t *root)
{
    uint64_t schema;

    if (!json_is_object(root)) {
        wrong_type(r, "", "an object", root);
        return;
    }
    schema = get_number(r, root, "schema", REQUIRED);
    if (!r->failed && (schema < JSON_SCHEMA_OLDEST || schema > JSON_SCHEMA))
        fail(r, "schema", "this version knows only %d to %d", JSON_SCHEMA_OLDEST, JSON_SCHEMA);
    r->f->test = get_string(r, root, "test", OPTIONAL);
    json_read_read_trace(r, root);
    read_engines(r, root);
    read_left(r, root);
    read_races(r, root);
    read_deadlocks(r, root);
    r->f->suppressed = get_number(r, root, "suppressed", OPTIONAL);
    read_rules(r, root);
    if (!r->failed)
        findings_link(r->f);
}

int json_read(struct findings *f, FILE *in, struct error *err)
{
    struct reader r = { .f = f, .err = err };
    json_error_t fault;
    json_t *root = json_loadf(in, JSON_REJECT_DUPLICATES, &fault);

    if (!root) {
        if (ferror(in))
            return error_set(err, "read error");
        return error_set(err, "line %d, column %d: %s", fault.line, fault.column, fault.text);
    }
    read_root(&r, root);
    json_decref(root);
    if (r.failed)
        findings_release(f);
    return r.failed ? -1 : 0;
}
