/* sarif.c - findings as SARIF 2.1.0 */
#include "report/sarif.h"
#include "report/json_emit.h"
#include "report/phrase.h"
#include "report/undecided.h"

#include <string.h>

#define SCHEMA                                                                                     \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

enum rule { RULE_RACE, RULE_FD_RACE, RULE_DEADLOCK, RULE_COUNT };
static const struct {
    const char *id, *name, *text;
} rules[RULE_COUNT] = {
    { "data-race", "DataRace",
      "Two threads access the same memory, at least one writes, and nothing orders them." },
    { FD_RACE, "DescriptorRace",
      "A thread closes a file descriptor that another one uses, and nothing orders them." },
    { "deadlock", "Deadlock", "Threads wait for each other's locks for ever." },
};

/* ---- pieces ---- */

static void write_message(struct emitter *e, const char *text)
{
    emit_open(e, "message", '{', true);
    emit_string(e, "text", text);
    emit_close(e);
}

/* A path as a URI: unreserved characters and slashes stay. */
static void write_uri(struct emitter *e, const struct file_place *p)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    struct buf b = { 0 };

    if (p->file[0] == '/')
        buf_addstr(&b, "file://");
    for (size_t i = 0; i < p->file_len; i++) {
        unsigned char c = (unsigned char)p->file[i];

        if (c && strchr(plain, c))
            buf_addch(&b, (char)c);
        else
            buf_addf(&b, "%%%02X", c);
    }
    emit_text(e, "uri", b.data, b.len);
    buf_release(&b);
}

/* The members of a location object, which is open. */
static void write_place(struct emitter *e, const char *location, const char *function)
{
    struct file_place p = file_place_of(location);

    if (p.file) {
        emit_open(e, "physicalLocation", '{', false);
        emit_open(e, "artifactLocation", '{', true);
        write_uri(e, &p);
        emit_close(e);
        emit_open(e, "region", '{', true);
        emit_number(e, "startLine", p.line ? p.line : 1);
        if (p.column)
            emit_number(e, "startColumn", p.column);
        emit_close(e);
        emit_close(e);
    }
    if (function || (location && !p.file)) {
        emit_open(e, "logicalLocations", '[', false);
        emit_open(e, NULL, '{', true);
        emit_string(e, "fullyQualifiedName", function ? function : location);
        if (function)
            emit_string(e, "kind", "function");
        emit_close(e);
        emit_close(e);
    }
}

static void write_stack(struct emitter *e, const struct stack *s, const char *text)
{
    emit_open(e, NULL, '{', false);
    write_message(e, text);
    emit_open(e, "frames", '[', false);
    for (size_t i = 0; i < s->count; i++) {
        emit_open(e, NULL, '{', false);
        emit_open(e, "location", '{', false);
        write_place(e, s->frames[i].location, s->frames[i].function);
        emit_close(e);
        emit_close(e);
    }
    emit_close(e);
    emit_close(e);
}

static void write_related(struct emitter *e, uint64_t id, const char *location,
                          const char *function, const char *text)
{
    emit_open(e, NULL, '{', false);
    emit_number(e, "id", id);
    write_place(e, location, function);
    write_message(e, text);
    emit_close(e);
}

/* ---- schedules ---- */

static bool is_first_of_thread(const struct schedule_step *steps, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(steps[k].thread, steps[i].thread) == 0)
            return false;
    return true;
}

static void write_thread_flow(struct emitter *e, const struct schedule_step *steps, size_t n,
                              const char *thread)
{
    emit_open(e, NULL, '{', false);
    emit_string(e, "id", thread);
    emit_open(e, "locations", '[', false);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(steps[i].thread, thread) != 0)
            continue;
        emit_open(e, NULL, '{', false);
        emit_open(e, "location", '{', false);
        write_place(e, steps[i].location, NULL);
        write_message(e, steps[i].operation);
        emit_close(e);
        emit_number(e, "executionOrder", steps[i].index + 1);
        emit_close(e);
    }
    emit_close(e);
    emit_close(e);
}

static void write_flow(struct emitter *e, const struct schedule_step *steps, size_t n)
{
    if (!n)
        return;
    emit_open(e, "codeFlows", '[', false);
    emit_open(e, NULL, '{', false);
    write_message(e, "A schedule that makes it happen.");
    emit_open(e, "threadFlows", '[', false);
    for (size_t i = 0; i < n; i++)
        if (is_first_of_thread(steps, i))
            write_thread_flow(e, steps, n, steps[i].thread);
    emit_close(e);
    emit_close(e);
    emit_close(e);
}

/* ---- results ---- */

static void write_head(struct emitter *e, enum rule rule, enum strength strength, const char *text)
{
    emit_string(e, "ruleId", rules[rule].id);
    emit_number(e, "ruleIndex", rule);
    emit_string(e, "level",
                strength == STRENGTH_POTENTIAL ? "note"
                : strength == STRENGTH_MAYBE   ? "warning"
                                               : "error");
    write_message(e, text);
}

static void write_tail(struct emitter *e, const struct findings *f, const char *id,
                       enum strength strength, uint64_t engines, uint64_t count)
{
    emit_open(e, "partialFingerprints", '{', true);
    emit_string(e, "heddle/v1", id);
    emit_close(e);
    emit_number(e, "occurrenceCount", count);
    emit_open(e, "properties", '{', false);
    emit_string(e, "strength", strength_names[strength]);
    emit_open(e, "engines", '[', true);
    for (size_t i = 0; i < f->nengines; i++)
        if (engines >> i & 1)
            emit_string(e, NULL, f->engines[i].name);
    emit_close(e);
    emit_close(e);
}

static void write_locations(struct emitter *e, const struct side *s)
{
    emit_open(e, "locations", '[', false);
    emit_open(e, NULL, '{', false);
    write_place(e, side_place(s), s->function);
    emit_close(e);
    emit_close(e);
}

/* Of side number `id`: itself, the locks it holds, where its thread was created. */
static void write_sides_related(struct emitter *e, const struct side *s, uint64_t *id)
{
    struct buf b = { 0 };

    phrase_side(&b, s);
    write_related(e, ++*id, side_place(s), s->function, b.data);
    for (size_t i = 0; i < s->nlocks; i++)
        if (s->locks[i].location) {
            b.len = 0;
            buf_addf(&b, "%s took lock %s here", s->thread, s->locks[i].name);
            write_related(e, ++*id, s->locks[i].location, NULL, b.data);
        }
    if (s->creator) {
        b.len = 0;
        buf_addf(&b, "%s was created here by %s", s->thread, s->creator);
        write_related(e, ++*id, s->created_at, NULL, b.data);
    }
    buf_release(&b);
}

static void write_race(struct emitter *e, const struct findings *f, const struct finding *r)
{
    struct buf b = { 0 };
    uint64_t id = 0;

    phrase_race(&b, r);
    emit_open(e, NULL, '{', false);
    write_head(e, r->descriptor ? RULE_FD_RACE : RULE_RACE, r->strength, b.data);
    write_locations(e, &r->sides[0]);
    emit_open(e, "relatedLocations", '[', false);
    for (int k = 0; k < 2; k++)
        write_sides_related(e, &r->sides[k], &id);
    if (r->allocation && !r->allocation->is_stack && !r->descriptor)
        write_related(e, ++id, r->allocation->location, NULL, "the memory was allocated here");
    emit_close(e);
    emit_open(e, "stacks", '[', false);
    for (int k = 0; k < 2; k++)
        if (r->sides[k].stack.count) {
            b.len = 0;
            phrase_side(&b, &r->sides[k]);
            write_stack(e, &r->sides[k].stack, b.data);
        }
    emit_close(e);
    write_flow(e, r->schedule, r->nschedule);
    write_tail(e, f, r->id, r->strength, r->engines, r->count);
    emit_close(e);
    buf_release(&b);
}

static void write_deadlock(struct emitter *e, const struct findings *f,
                           const struct deadlock_finding *d)
{
    struct buf b = { 0 };
    uint64_t id = 0;

    phrase_deadlock(&b, d);
    emit_open(e, NULL, '{', false);
    write_head(e, RULE_DEADLOCK, d->strength, b.data);
    write_locations(e, &d->waiters[0].request);
    emit_open(e, "relatedLocations", '[', false);
    for (size_t i = 0; i < d->nwaiters; i++)
        write_sides_related(e, &d->waiters[i].request, &id);
    emit_close(e);
    write_flow(e, d->schedule, d->nschedule);
    write_tail(e, f, d->id, d->strength, d->engines, d->count);
    emit_close(e);
    buf_release(&b);
}

/* ---- the run ---- */

static void write_tool(struct emitter *e)
{
    emit_open(e, "tool", '{', false);
    emit_open(e, "driver", '{', false);
    emit_string(e, "name", "heddle");
    emit_string(e, "version", HEDDLE_VERSION);
    emit_open(e, "rules", '[', false);
    for (int i = 0; i < RULE_COUNT; i++) {
        emit_open(e, NULL, '{', false);
        emit_string(e, "id", rules[i].id);
        emit_string(e, "name", rules[i].name);
        emit_open(e, "shortDescription", '{', true);
        emit_string(e, "text", rules[i].text);
        emit_close(e);
        emit_close(e);
    }
    emit_close(e);
    emit_close(e);
    emit_close(e);
}

static void write_undecided(struct emitter *e, const struct findings_engine *engine)
{
    struct buf left = { 0 }, b = { 0 };

    for (size_t at = 0; undecided_next(engine, &at, &left); left.len = b.len = 0) {
        buf_addf(&b, "engine %s is incomplete: %s", engine->name, left.data);
        emit_open(e, NULL, '{', false);
        emit_string(e, "level", "warning");
        write_message(e, b.data);
        emit_close(e);
    }
    buf_release(&left);
    buf_release(&b);
}

/* An engine that left something undecided is no clean bill. */
static void write_invocation(struct emitter *e, const struct findings *f)
{
    emit_open(e, "invocations", '[', false);
    emit_open(e, NULL, '{', false);
    emit_bool(e, "executionSuccessful", true);
    emit_open(e, "toolExecutionNotifications", '[', false);
    for (size_t i = 0; i < f->nengines; i++)
        write_undecided(e, &f->engines[i]);
    emit_close(e);
    emit_close(e);
    emit_close(e);
}

void sarif_write(const struct findings *f, FILE *out)
{
    struct emitter e = { .out = out };

    emit_open(&e, NULL, '{', false);
    emit_string(&e, "$schema", SCHEMA);
    emit_string(&e, "version", "2.1.0");
    emit_open(&e, "runs", '[', false);
    emit_open(&e, NULL, '{', false);
    write_tool(&e);
    write_invocation(&e, f);
    emit_string(&e, "columnKind", "unicodeCodePoints");
    emit_open(&e, "results", '[', false);
    for (size_t i = 0; i < f->count; i++)
        write_race(&e, f, &f->races[i]);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        write_deadlock(&e, f, &f->deadlocks[i]);
    emit_close(&e);
    emit_close(&e);
    emit_close(&e);
    emit_close(&e);
    fputc('\n', out);
}
