/* confirm_show.c - what came of the tries, as text and as JSON */
#include "base/buf.h"
#include "base/plural.h"
#include "cmd/confirm/confirm.h"
#include "cmd/confirm/confirm_outcomes.h"
#include "report/json_emit.h"
#include "report/phrase.h"

#include <inttypes.h>
#include <string.h>

/* Positions of the picture's columns. */
enum { INDENT = 4, COLUMN = 44, STEPS_SHOWN = 24 };

/* ---- the meeting ---- */

/* The sides of the meeting in the order of the race's; a finding sorts them by itself. */
static const struct side *met_side(const struct confirmation *c, unsigned k)
{
    const struct side *s = c->seen.races[0].sides;
    bool same = strcmp(s[0].location, c->race->sides[0].location) == 0 &&
                strcmp(s[1].location, c->race->sides[1].location) == 0;

    return &s[same ? k : !k];
}

static void print_stack(const struct side *s, FILE *out)
{
    for (size_t i = 0; i < s->stack.count; i++) {
        const struct frame *f = &s->stack.frames[i];

        fprintf(out, "        #%zu %s%s%s\n", i, f->function ? f->function : "",
                f->function && f->location ? " at " : "", f->location ? f->location : "");
    }
}

static void print_access(const struct side *s, FILE *out)
{
    fprintf(out, "    %s before its %s of %" PRIu64 " byte%s at %s\n", s->thread, s->op, s->bytes,
            s->bytes == 1 ? "" : "s", s->location);
    print_stack(s, out);
}

static void print_values(const struct confirmation *c, FILE *out)
{
    const struct steer_done *d = &c->done;

    if (d->values & 1)
        fprintf(out, "    in memory: %" PRIu64 " before both", d->before);
    if (d->values & 2)
        fprintf(out, ", %" PRIu64 " when the one that had waited had gone on", d->after);
    if (d->values)
        fputc('\n', out);
}

/* ---- the picture: a column for each of the two threads, one for all others ---- */

static void print_step(const struct finding *r, const char *thread, const char *what,
                       const char *where, FILE *out)
{
    unsigned column = 0;

    if (strcmp(thread, r->sides[1].thread) == 0)
        column = 1;
    else if (strcmp(thread, r->sides[0].thread) != 0)
        column = 2;
    fprintf(out, "%*s", INDENT + (column == 1 ? COLUMN : 0), "");
    if (column == 2)
        fprintf(out, "(%s) ", thread);
    fprintf(out, "%s  %s\n", what, where);
}

static void print_picture(const struct finding *r, FILE *out)
{
    size_t skip = r->nschedule > STEPS_SHOWN ? r->nschedule - STEPS_SHOWN : 0;

    fprintf(out, "%*s%-*s%s\n", INDENT, "", COLUMN, r->sides[0].thread, r->sides[1].thread);
    if (skip)
        fprintf(out, "%*s(%zu steps before)\n", INDENT, "", skip);
    for (size_t i = skip; i < r->nschedule; i++) {
        const struct schedule_step *s = &r->schedule[i];

        if (s->event != r->sides[0].event && s->event != r->sides[1].event)
            print_step(r, s->thread, s->operation, s->location, out);
    }
    for (unsigned k = 0; k < 2; k++) {
        struct buf b = { 0 };

        buf_addf(&b, "=> %s", r->sides[k].op);
        print_step(r, r->sides[k].thread, b.data, r->sides[k].location, out);
        buf_release(&b);
    }
}

/* ---- outcomes ---- */

static void print_order(const struct order_outcomes *o, const struct finding *r, FILE *out)
{
    struct buf b = { 0 };

    outcomes_name_order(o, r, &b);
    fprintf(out, "    %s: ", b.data);
    for (size_t i = 0; i < o->nseen; i++)
        fprintf(out, "%s%s (%u of %u)", i ? ", " : "", o->seen[i].text, o->seen[i].count, o->shown);
    if (o->others)
        fprintf(out, ", others (%u of %u)", o->others, o->shown);
    if (!o->shown)
        fprintf(out, "did not come about in %u runs", o->runs);
    fputc('\n', out);
    buf_release(&b);
}

static bool is_slower(const struct order_outcomes *a, const struct order_outcomes *b)
{
    return a->seconds > 3 * b->seconds && a->seconds > b->seconds + 1;
}

static void print_time(const struct outcomes *o, const struct finding *r, FILE *out)
{
    const struct order_outcomes *a = &o->order[0], *b = &o->order[1];
    struct buf name = { 0 };

    if (o->count < 2 || !a->shown || !b->shown || (!is_slower(a, b) && !is_slower(b, a)))
        return;
    outcomes_name_order(is_slower(a, b) ? a : b, r, &name);
    fprintf(out, "    slower: %s (%.1f s, else %.1f s)\n", name.data,
            is_slower(a, b) ? a->seconds : b->seconds, is_slower(a, b) ? b->seconds : a->seconds);
    buf_release(&name);
}

static void print_outputs(const struct outcomes *o, FILE *out)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->order[i].shown && o->order[i].outputs_agree && o->order[i].line)
            fprintf(out, "    output of order %zu ends with: %s\n", i + 1, o->order[i].line);
}

static void print_outcomes(const struct outcomes *o, const struct finding *r, FILE *out)
{
    fprintf(out, "  what the orders do:\n");
    for (size_t i = 0; i < o->count; i++)
        print_order(&o->order[i], r, out);
    if (o->rank == OUTCOME_OUTPUT)
        print_outputs(o, out);
    print_time(o, r, out);
    if (!o->differs)
        fprintf(out, "    no difference seen\n");
}

/* ---- text ---- */

static void print_confirmed(const struct confirmation *c, FILE *out)
{
    fprintf(out, "  confirmed in try %u (%.2f s): both threads stood before their accesses\n",
            c->tries, c->seconds);
    for (unsigned k = 0; k < 2; k++)
        print_access(met_side(c, k), out);
    print_values(c, out);
    if (c->outcomes)
        print_outcomes(c->outcomes, c->race, out);
    fprintf(out, "  the schedule that led there:\n");
    print_picture(c->race, out);
}

static void print_one(const struct confirmation *c, FILE *out)
{
    struct buf b = { 0 };

    phrase_race(&b, c->race);
    fprintf(out, "%s %s\n", c->race->id, b.data);
    buf_release(&b);
    if (c->verdict == VERDICT_CONFIRMED)
        print_confirmed(c, out);
    else if (c->verdict == VERDICT_NOT_TRIED)
        fprintf(out, "  not tried: %s\n", c->why);
    else
        fprintf(out, "  %s in %u tr%s (%.2f s): %s\n", verdict_names[c->verdict], c->tries,
                c->tries == 1 ? "y" : "ies", c->seconds, c->why);
    fputc('\n', out);
}

static size_t count(const struct confirmation *c, size_t n, enum verdict v)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += c[i].verdict == v;
    return found;
}

static void show_text(const struct confirmation *c, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++)
        print_one(&c[i], out);
    fprintf(out, "%zu race%s: %zu confirmed, %zu not met, %zu diverged, %zu not tried\n", n,
            plural(n), count(c, n, VERDICT_CONFIRMED), count(c, n, VERDICT_NOT_MET),
            count(c, n, VERDICT_DIVERGED), count(c, n, VERDICT_NOT_TRIED));
}

/* ---- JSON ---- */

static void emit_side(struct emitter *e, const struct side *s)
{
    emit_open(e, NULL, '{', false);
    emit_string(e, "thread", s->thread);
    emit_string(e, "operation", s->op);
    emit_string(e, "location", s->location);
    emit_number(e, "bytes", s->bytes);
    emit_open(e, "stack", '[', false);
    for (size_t i = 0; i < s->stack.count; i++) {
        const struct frame *f = &s->stack.frames[i];

        emit_open(e, NULL, '{', true);
        if (f->function)
            emit_string(e, "function", f->function);
        if (f->location)
            emit_string(e, "location", f->location);
        emit_close(e);
    }
    emit_close(e);
    emit_close(e);
}

static void emit_meeting(struct emitter *e, const struct confirmation *c)
{
    emit_open(e, "accesses", '[', false);
    for (unsigned k = 0; k < 2; k++)
        emit_side(e, met_side(c, k));
    emit_close(e);
    if (c->done.values & 1)
        emit_number(e, "value_before", c->done.before);
    if (c->done.values & 2)
        emit_number(e, "value_after_first", c->done.after);
}

static void emit_order(struct emitter *e, const struct order_outcomes *o, const struct finding *r)
{
    struct buf b = { 0 };

    outcomes_name_order(o, r, &b);
    emit_open(e, NULL, '{', false);
    emit_string(e, "order", b.data);
    emit_number(e, "first", o->first);
    emit_number(e, "mixed", o->mixed);
    emit_number(e, "runs", o->runs);
    emit_number(e, "shown", o->shown);
    emit_number(e, "milliseconds", (uint64_t)(o->seconds * 1000));
    emit_open(e, "seen", '[', false);
    for (size_t i = 0; i < o->nseen; i++) {
        emit_open(e, NULL, '{', true);
        emit_string(e, "outcome", o->seen[i].text);
        emit_string(e, "kind", outcome_rank_name(o->seen[i].rank));
        emit_number(e, "count", o->seen[i].count);
        emit_close(e);
    }
    emit_close(e);
    emit_close(e);
    buf_release(&b);
}

static void emit_outcomes(struct emitter *e, const struct outcomes *o, const struct finding *r)
{
    emit_number(e, "differs", o->differs);
    emit_string(e, "worst", outcome_rank_name(o->rank));
    emit_open(e, "outcomes", '[', false);
    for (size_t i = 0; i < o->count; i++)
        emit_order(e, &o->order[i], r);
    emit_close(e);
}

static void emit_one(struct emitter *e, const struct confirmation *c)
{
    emit_open(e, NULL, '{', false);
    emit_string(e, "race", c->race->id);
    emit_string(e, "verdict", verdict_names[c->verdict]);
    if (c->why)
        emit_string(e, "reason", c->why);
    emit_number(e, "tries", c->tries);
    emit_number(e, "milliseconds", (uint64_t)(c->seconds * 1000));
    if (c->tries) {
        emit_number(e, "exit_code", (uint64_t)c->code);
        emit_number(e, "waits", c->done.waits);
        emit_number(e, "gates", c->plan->ngates);
        emit_number(e, "gates_left", c->done.gates_left);
    }
    if (c->verdict == VERDICT_CONFIRMED)
        emit_meeting(e, c);
    if (c->outcomes)
        emit_outcomes(e, c->outcomes, c->race);
    emit_close(e);
}

static void show_json(const struct confirmation *c, size_t n, FILE *out)
{
    struct emitter e = { .out = out };

    emit_open(&e, NULL, '{', false);
    emit_number(&e, "schema", 1);
    emit_open(&e, "confirmations", '[', false);
    for (size_t i = 0; i < n; i++)
        emit_one(&e, &c[i]);
    emit_close(&e);
    emit_close(&e);
    fputc('\n', out);
}

void confirm_show(const struct confirmation *c, size_t n, const struct options *o, FILE *out)
{
    if (strcmp(o->texts[OPT_FORMAT], "json") == 0)
        show_json(c, n, out);
    else
        show_text(c, n, out);
}
