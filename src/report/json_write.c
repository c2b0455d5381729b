/* json_write.c - findings as JSON, schema 1 (spec: docs/schema/result.schema.json)
 *
 * Members that are unknown are left out, never null. Arrays that may be long
 * (witnesses) stay on one line.
 */
#include "report/json.h"
#include "report/changed_reads.h"
#include "report/json_emit.h"
#include "report/recorded.h"
#include "report/undecided.h"

#include <inttypes.h>

static void write_diagnoses(struct emitter *e, const struct findings_trace *t)
{
    emit_open(e, "diagnoses", '[', false);
    for (size_t i = 0; i < t->ndiagnoses; i++) {
        emit_open(e, NULL, '{', true);
        emit_string(e, "kind", t->diagnoses[i].kind);
        emit_number(e, "event", t->diagnoses[i].event);
        emit_string(e, "text", t->diagnoses[i].text);
        emit_close(e);
    }
    emit_close(e);
    emit_open(e, "diagnosed", '{', true);
    for (size_t i = 0; i < t->ndiagnosis_totals; i++)
        emit_number(e, t->diagnosis_totals[i].name, t->diagnosis_totals[i].value);
    emit_close(e);
}

static void write_trace(struct emitter *e, const struct findings_trace *t)
{
    emit_open(e, "trace", '{', false);
    emit_string(e, "path", t->path);
    emit_string_if(e, "format", t->format);
    emit_number(e, "events", t->events);
    emit_number(e, "threads", t->threads);
    emit_string(e, "order", trace_order_names[t->order]);
    emit_bool(e, "values", t->values);
    emit_bool(e, "branches", t->branches);
    emit_bool(e, "calls", t->calls);
    if (t->loss) {
        emit_open(e, "lost", '{', true);
        emit_number(e, "bytes", t->lost_bytes);
        emit_string(e, "reason", t->loss);
        emit_close(e);
    }
    emit_number(e, "repaired", t->repaired);
    recording_emit(&t->recording, e);
    write_diagnoses(e, t);
    emit_close(e);
}

static void write_undecided(struct emitter *e, const struct findings_engine *engine)
{
    struct buf b = { 0 };

    if (engine->complete)
        return;
    emit_open(e, "undecided", '[', false);
    for (size_t at = 0; undecided_next(engine, &at, &b); b.len = 0)
        emit_string(e, NULL, b.data);
    emit_close(e);
    buf_release(&b);
}

static void write_engine(struct emitter *e, const struct findings_engine *engine)
{
    emit_open(e, NULL, '{', false);
    emit_string(e, "name", engine->name);
    emit_seconds(e, "seconds", engine->seconds);
    emit_number(e, "races", engine->races);
    if (engine->deadlocks)
        emit_number(e, "deadlocks", engine->deadlocks);
    emit_bool(e, "complete", engine->complete);
    write_undecided(e, engine);
    emit_open(e, "counters", '{', true);
    for (size_t i = 0; i < engine->ncounters; i++)
        emit_number(e, engine->counters[i].name, engine->counters[i].value);
    emit_close(e);
    emit_close(e);
}

static void write_frame(struct emitter *e, const struct frame *frame)
{
    uint32_t line, column;
    size_t file_len;

    emit_open(e, NULL, '{', true);
    emit_string_if(e, "function", frame->function);
    if (frame->location && location_split(frame->location, &file_len, &line, &column)) {
        emit_text(e, "file", frame->location, file_len);
        emit_number(e, "line", line);
        if (column)
            emit_number(e, "column", column);
    } else {
        emit_string_if(e, "location", frame->location);
    }
    if (frame->inlined)
        emit_bool(e, "inlined", true);
    emit_close(e);
}

static void write_stack(struct emitter *e, const struct stack *s)
{
    emit_open(e, "stack", '[', false);
    for (size_t i = 0; i < s->count; i++)
        write_frame(e, &s->frames[i]);
    emit_close(e);
    if (s->omitted)
        emit_number(e, "stack_omitted", s->omitted);
}

static void write_held(struct emitter *e, const struct held_lock *l)
{
    emit_open(e, NULL, '{', !l->stack.count);
    emit_string(e, "lock", l->name);
    emit_bool(e, "shared", l->shared);
    if (l->only_here)
        emit_bool(e, "only_here", true);
    if (l->location) {
        emit_string(e, "location", l->location);
        emit_number(e, "event", l->event);
    }
    if (l->stack.count)
        write_stack(e, &l->stack);
    emit_close(e);
}

static void write_locks(struct emitter *e, const struct side *s)
{
    emit_open(e, "locks", '[', true);
    for (size_t i = 0; i < s->nlocks; i++)
        emit_string(e, NULL, s->locks[i].name);
    emit_close(e);
    emit_open(e, "held", '[', false);
    for (size_t i = 0; i < s->nlocks; i++)
        write_held(e, &s->locks[i]);
    emit_close(e);
}

static void write_source(struct emitter *e, const struct excerpt *x)
{
    emit_open(e, "source", '{', false);
    emit_string(e, "location", x->location);
    emit_number(e, "line", x->first);
    emit_number(e, "marked", x->marked);
    emit_open(e, "text", '[', false);
    for (size_t i = 0; i < x->count; i++)
        emit_string(e, NULL, x->lines[i]);
    emit_close(e);
    emit_close(e);
}

static void write_creation(struct emitter *e, const struct side *s)
{
    emit_open(e, "created", '{', !s->created_stack.count);
    emit_string(e, "thread", s->creator);
    emit_string(e, "location", s->created_at);
    emit_number(e, "event", s->created_event);
    if (s->created_stack.count)
        write_stack(e, &s->created_stack);
    emit_close(e);
}

/* The members of an access or a request; the object is open. */
static void write_side(struct emitter *e, const struct side *s)
{
    emit_number(e, "event", s->event);
    emit_string(e, "thread", s->thread);
    emit_string_if(e, "thread_name", s->thread_name);
    emit_string(e, "op", s->op);
    emit_string_if(e, "order", s->order);
    emit_string(e, "location", s->location);
    emit_string_if(e, "function", s->function);
    emit_string_if(e, "symbol", s->symbol);
    if (s->bytes)
        emit_number(e, "bytes", s->bytes);
    emit_string_if(e, "value", s->value);
    emit_string_if(e, "old", s->old);
    write_locks(e, s);
    if (s->locks_unknown)
        emit_bool(e, "locks_unknown", true);
    write_stack(e, &s->stack);
    if (s->source)
        write_source(e, s->source);
    if (s->creator)
        write_creation(e, s);
}

static void write_access(struct emitter *e, const struct side *s)
{
    emit_open(e, NULL, '{', false);
    write_side(e, s);
    emit_close(e);
}

static void write_allocation(struct emitter *e, const struct allocation *a)
{
    emit_open(e, "allocated", '{', !a->stack.count);
    emit_string(e, "thread", a->thread);
    emit_string(e, "location", a->location);
    emit_number(e, "event", a->event);
    emit_number(e, "bytes", a->bytes);
    emit_number(e, "offset", a->offset);
    if (a->is_stack)
        emit_bool(e, "is_stack", true);
    if (a->maybe_local)
        emit_bool(e, "maybe_thread_local", true);
    if (a->stack.count)
        write_stack(e, &a->stack);
    emit_close(e);
}

static void write_schedule(struct emitter *e, const struct schedule_step *schedule, size_t n)
{
    emit_open(e, "schedule", '[', false);
    for (size_t i = 0; i < n; i++) {
        const struct schedule_step *step = &schedule[i];

        emit_open(e, NULL, '{', true);
        emit_number(e, "step", step->index);
        emit_number(e, "event", step->event);
        emit_string(e, "thread", step->thread);
        emit_string(e, "operation", step->operation);
        emit_string(e, "location", step->location);
        emit_close(e);
    }
    emit_close(e);
}

static void write_witness(struct emitter *e, const uint64_t *witness, size_t n)
{
    if (e->dense) /* for the page: it shows the schedule */
        return;
    emit_open(e, "witness", '[', true);
    for (size_t i = 0; i < n; i++)
        emit_number(e, NULL, witness[i]);
    emit_close(e);
}

static void write_found_by(struct emitter *e, const struct findings *f, uint64_t engines)
{
    emit_open(e, "engines", '[', true);
    for (size_t i = 0; i < f->nengines; i++)
        if (engines >> i & 1)
            emit_string(e, NULL, f->engines[i].name);
    emit_close(e);
}

/* As text: readers' numbers may have 53 bits. */
static void write_address(struct emitter *e, const struct finding *r)
{
    char text[24];

    if (!r->bytes)
        return;
    snprintf(text, sizeof(text), "0x%" PRIx64, r->address);
    emit_string(e, "address", text);
    emit_number(e, "bytes", r->bytes);
}

static void write_tests(struct emitter *e, const struct findings_tests *tests)
{
    if (!tests->count)
        return;
    emit_open(e, "tests", '[', true);
    for (size_t i = 0; i < tests->count; i++)
        emit_string(e, NULL, tests->names[i]);
    emit_close(e);
}

static void write_new_events(struct emitter *e, const struct finding_flip *flip)
{
    emit_open(e, "events", '[', false);
    for (uint64_t i = 0; flip->steps && i < flip->nevents; i++) {
        emit_open(e, NULL, '{', true);
        emit_string(e, "operation", flip->steps[i].operation);
        emit_string(e, "location", flip->steps[i].location);
        emit_close(e);
    }
    emit_close(e);
}

static void write_flips(struct emitter *e, const struct finding *r)
{
    if (!r->nflips)
        return;
    emit_open(e, "flips", '[', false);
    for (size_t i = 0; i < r->nflips; i++) {
        const struct finding_flip *flip = &r->flips[i];

        emit_open(e, NULL, '{', false);
        emit_number(e, "event", flip->event);
        emit_string(e, "thread", flip->thread);
        emit_string(e, "location", flip->location);
        emit_number(e, "outcome", flip->outcome);
        if (flip->by_value)
            emit_bool(e, "by_value", true);
        emit_number(e, "path", flip->path);
        emit_number(e, "first_new", flip->first);
        emit_number(e, "new_events", flip->nevents);
        emit_number(e, "access", flip->access);
        emit_number(e, "side", flip->side);
        write_new_events(e, flip);
        emit_close(e);
    }
    emit_close(e);
}

/* Values as text: readers' numbers may have 53 bits. */
static void write_value(struct emitter *e, const char *key, bool known, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    if (known)
        emit_string(e, key, text);
}

static void write_changes(struct emitter *e, const struct finding *r)
{
    if (!r->nchanges && !r->by_values)
        return;
    emit_open(e, "changes", '[', false);
    for (size_t i = 0; i < r->nchanges; i++) {
        const struct finding_change *c = &r->changes[i];

        emit_open(e, NULL, '{', true);
        emit_number(e, "event", c->event);
        emit_string_if(e, "thread", c->thread);
        emit_string_if(e, "variable", c->variable);
        emit_string_if(e, "location", c->location);
        write_value(e, "value", c->has_value, c->value);
        write_value(e, "recorded", c->has_recorded, c->recorded);
        if (c->writer != CHANGE_FIRST)
            emit_number(e, "writer", c->writer);
        emit_string_if(e, "written_at", c->written_at);
        if (c->branch != CHANGE_NONE)
            emit_number(e, "branch", c->branch);
        emit_string_if(e, "branch_at", c->branch_at);
        emit_close(e);
    }
    emit_close(e);
}

/* Pairs that calls of untraced code may order. */
static void write_left(struct emitter *e, const struct findings *f)
{
    emit_open(e, "left_out", '[', false);
    for (size_t i = 0; i < f->nleft; i++) {
        const struct findings_left *l = &f->left[i];

        emit_open(e, NULL, '{', true);
        emit_string(e, "first", l->first);
        emit_string(e, "second", l->second);
        emit_open(e, "calls", '[', true);
        for (int k = 0; k < 3 && l->calls[k]; k++)
            emit_string(e, NULL, l->calls[k]);
        emit_close(e);
        emit_close(e);
    }
    emit_close(e);
}

static void write_race(struct emitter *e, const struct findings *f, const struct finding *r)
{
    emit_open(e, NULL, '{', false);
    emit_string(e, "id", r->id);
    emit_string_if(e, "trace", r->trace);
    if (r->descriptor)
        emit_string(e, "kind", FD_RACE);
    emit_string(e, "variable", r->variable);
    write_address(e, r);
    write_found_by(e, f, r->engines);
    emit_string(e, "strength", strength_names[r->strength]);
    if (r->independent)
        emit_bool(e, "independent", true);
    emit_string_if(e, r->may_follow ? "may_follow_from" : "follows_from", r->follows);
    emit_string_if(e, "doubt", r->doubt);
    emit_string_if(e, "confirmation", r->confirmation);
    if (r->tries)
        emit_number(e, "tries", r->tries);
    emit_string_if(e, "confirmation_reason", r->confirmation_reason);
    emit_string_if(e, "decided_by", r->decided_by);
    emit_number(e, "count", r->count);
    write_tests(e, &r->tests);
    emit_open(e, "accesses", '[', false);
    write_access(e, &r->sides[0]);
    write_access(e, &r->sides[1]);
    emit_close(e);
    if (r->allocation && !r->descriptor)
        write_allocation(e, r->allocation);
    if (r->thread_local_of)
        emit_string(e, "thread_local_of", r->thread_local_of);
    write_flips(e, r);
    write_changes(e, r);
    if (r->long_witness)
        emit_number(e, "long_witness", r->long_witness);
    if (r->witness) {
        if (r->after) {
            emit_number(e, "after", r->after);
            emit_number(e, "part", r->part);
        }
        if (r->switches)
            emit_number(e, "switches", r->switches);
        write_schedule(e, r->schedule, r->nschedule);
        write_witness(e, r->witness, r->nwitness);
    }
    emit_close(e);
}

/* A request says which lock it waits for and who has that since when. */
static void write_request(struct emitter *e, const struct deadlock_finding *d, size_t i)
{
    const struct waiter *w = &d->waiters[i], *holder = deadlock_holder(d, i);

    emit_open(e, NULL, '{', false);
    emit_string(e, "lock", w->lock);
    emit_open(e, "holder", '{', true);
    emit_string(e, "thread", holder->request.thread);
    emit_string(e, "location", holder->hold_location);
    emit_number(e, "event", holder->hold_event);
    emit_close(e);
    write_side(e, &w->request);
    emit_close(e);
}

static void write_deadlock(struct emitter *e, const struct findings *f,
                           const struct deadlock_finding *d)
{
    emit_open(e, NULL, '{', false);
    emit_string(e, "id", d->id);
    emit_string_if(e, "trace", d->trace);
    write_found_by(e, f, d->engines);
    emit_string(e, "strength", strength_names[d->strength]);
    emit_number(e, "count", d->count);
    write_tests(e, &d->tests);
    emit_open(e, "requests", '[', false);
    for (size_t i = 0; i < d->nwaiters; i++)
        write_request(e, d, i);
    emit_close(e);
    if (d->long_witness)
        emit_number(e, "long_witness", d->long_witness);
    if (d->witness) {
        if (d->switches)
            emit_number(e, "switches", d->switches);
        write_schedule(e, d->schedule, d->nschedule);
        write_witness(e, d->witness, d->nwitness);
    }
    emit_close(e);
}

static void write_rules(struct emitter *e, const struct findings *f)
{
    if (f->baseline) {
        emit_string(e, "baseline", f->baseline);
        emit_number(e, "known", f->known);
    }
    if (!f->nrules)
        return;
    emit_open(e, "suppressions", '[', false);
    for (size_t i = 0; i < f->nrules; i++) {
        emit_open(e, NULL, '{', true);
        emit_string(e, "rule", f->rules[i].text);
        emit_string(e, "file", f->rules[i].file);
        emit_number(e, "line", f->rules[i].line);
        emit_number(e, "count", f->rules[i].count);
        emit_close(e);
    }
    emit_close(e);
}

static void write_result(struct emitter *e, const struct findings *f)
{
    emit_open(e, NULL, '{', false);
    emit_number(e, "schema", JSON_SCHEMA);
    emit_string_if(e, "test", f->test);
    write_trace(e, &f->trace);
    emit_open(e, "engines", '[', false);
    for (size_t i = 0; i < f->nengines; i++)
        write_engine(e, &f->engines[i]);
    emit_close(e);
    emit_open(e, "races", '[', false);
    for (size_t i = 0; i < f->count; i++)
        write_race(e, f, &f->races[i]);
    emit_close(e);
    emit_open(e, "deadlocks", '[', false);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        write_deadlock(e, f, &f->deadlocks[i]);
    emit_close(e);
    if (f->nleft)
        write_left(e, f);
    emit_number(e, "suppressed", f->suppressed);
    write_rules(e, f);
    emit_close(e);
}

void json_write(const struct findings *f, FILE *out)
{
    struct emitter e = { .out = out };

    write_result(&e, f);
    fputc('\n', out);
}

void json_write_brief(const struct findings *f, FILE *out)
{
    struct emitter e = { .out = out, .dense = true };

    write_result(&e, f);
}
