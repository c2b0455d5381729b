/* explanation.c - one race or deadlock in full: the accesses, why nothing orders them, the witness
 */
#include "report/text.h"
#include "base/plural.h"
#include "report/changed_reads.h"
#include "report/paint.h"

#include <inttypes.h>
#include <string.h>

/* With a long witness, how many of the steps shown come from its start. */
enum { HEAD_STEPS = 10 };

/* Steps [*from, *to) are left out. */
static void omitted_steps(size_t n, bool full, size_t *from, size_t *to)
{
    *from = *to = 0;
    if (full || n <= EXPLAIN_STEPS)
        return;
    *from = HEAD_STEPS;
    *to = n - (EXPLAIN_STEPS - HEAD_STEPS);
}

void text_explain_want(const uint64_t *witness, size_t n, bool full, struct steps *s)
{
    size_t from, to;

    omitted_steps(n, full, &from, &to);
    for (size_t i = 0; i < n; i++)
        if (i < from || i >= to)
            steps_want(s, witness[i]);
}

static void write_common_locks(struct painter *p, const struct finding *r)
{
    const struct side *a = &r->sides[0], *b = &r->sides[1];
    size_t common = 0;

    for (size_t i = 0; i < a->nlocks; i++) {
        const struct held_lock *x = &a->locks[i], *y = side_lock(b, x->name);

        if (!y)
            continue;
        common++;
        if (x->shared && y->shared)
            fprintf(p->out, "  - both hold %s, but only shared, which lets both in at once\n",
                    x->name);
        else
            fprintf(p->out, "  - both hold %s\n", x->name);
    }
    if (common)
        return;
    if (a->locks_unknown || b->locks_unknown)
        fputs(r->strength == STRENGTH_CONFIRMED
                  ? "  - both threads were right before their accesses at the same time\n"
                  : "  - no synchronisation of the program that was followed does\n",
              p->out);
    else if (a->nlocks == 0 && b->nlocks == 0)
        fputs("  - neither access holds a lock\n", p->out);
    else if (a->nlocks == 0 || b->nlocks == 0)
        fprintf(p->out, "  - the access by %s holds no lock\n", (a->nlocks ? b : a)->thread);
    else
        fputs("  - each access holds a lock, but no lock is held by both\n", p->out);
}

/* "41 of 44 accesses to it hold q->mu; not: a.c:3:7, a.c:9:1" */
static void write_usage(struct painter *p, const struct usage *u)
{
    if (!u || u->accesses < 3)
        return;
    if (!u->lock && u->locked)
        fprintf(p->out,
                "  - %" PRIu64 " of %" PRIu64 " recorded accesses to it hold a lock, but none that "
                "could be taken at both\n",
                u->locked, u->accesses);
    else if (!u->lock)
        fprintf(p->out, "  - none of the %" PRIu64 " recorded accesses to it holds a lock\n",
                u->accesses);
    if (!u->lock)
        return;
    fprintf(p->out, "  - %" PRIu64 " of %" PRIu64 " recorded accesses to it hold %s", u->holding,
            u->accesses, u->lock);
    for (size_t i = 0; i < u->nwithout; i++)
        fprintf(p->out, "%s%s", i ? ", " : "; not so: ", paint_location(p, u->without[i]));
    fputs(u->more ? ", ...\n" : "\n", p->out);
}

static bool found_by(const struct findings *f, const struct finding *r, const char *engine)
{
    for (size_t i = 0; i < f->nengines; i++)
        if ((r->engines >> i & 1) && strcmp(f->engines[i].name, engine) == 0)
            return true;
    return false;
}

static void write_reasons(struct painter *p, const struct findings *f, const struct finding *r,
                          const struct usage *usage)
{
    bool hb = found_by(f, r, "hb") || found_by(f, r, "fasttrack"), shb = found_by(f, r, "shb");

    fputs("\nwhy nothing orders them:\n", p->out);
    write_common_locks(p, r);
    write_usage(p, usage);
    if (hb || shb)
        fprintf(p->out,
                "  - no chain of synchronisation (locks, fork and join, atomics ...) leads from "
                "event %" PRIu64 " to event %" PRIu64 "\n",
                r->sides[0].event, r->sides[1].event);
    if (shb)
        fputs("  - no chain through the writes that reads observed leads there either\n", p->out);
    if (r->long_witness)
        fputs("  - there is a schedule that puts them next to each other\n", p->out);
    if (r->nwitness)
        fputs("  - the schedule below is possible and puts them next to each other\n", p->out);
}

static void widen(size_t *width, const char *text)
{
    size_t w = paint_width(text);

    *width = w > *width ? w : *width;
}

static struct paint_widths step_widths(const struct steps *s)
{
    struct paint_widths w = { strlen("thread"), strlen("operation") };

    if (s->next == 0)
        return (struct paint_widths){ 0, 0 };
    for (size_t i = 0; i < s->next; i++) {
        widen(&w.thread, s->list[i].thread);
        widen(&w.operation, s->list[i].operation);
    }
    return w;
}

static void write_steps(struct painter *p, const uint64_t *witness, size_t n, const struct steps *s,
                        bool full)
{
    struct paint_widths w = step_widths(s);
    const char *before = NULL;
    size_t from, to;

    omitted_steps(n, full, &from, &to);
    paint_step_head(p, &w);
    for (size_t i = 0; i < n; i++) {
        const struct step_text *t = steps_get(s, witness[i]);
        struct schedule_step step = { .index = i, .event = witness[i] };

        if (i == from && to > from) {
            paint_gap(p, to - from);
            i = to - 1;
            before = NULL;
            continue;
        }
        if (t) {
            step.thread = t->thread;
            step.operation = t->operation;
            step.location = t->location;
        }
        paint_step(p, &step, t && before && before != t->thread, &w);
        before = t ? t->thread : NULL;
    }
}

/* What a schedule is for: "makes them meet", "the last two steps are the race". */
struct purpose {
    const char *kind, *does, *ends;
};

static void write_witness(struct painter *p, const struct findings *f, const uint64_t *witness,
                          size_t n, const struct purpose *why, const struct steps *s,
                          const struct explain_options *o)
{
    size_t from, to;

    if (!n) {
        fprintf(
            p->out,
            "\nthere is no schedule for this %s: there was no room for it, or its engines do not "
            "make one\n",
            why->kind);
        return;
    }
    omitted_steps(n, o->full, &from, &to);
    fprintf(p->out, "\nschedule that %s, %zu step%s of the %" PRIu64 " event%s%s:\n", why->does, n,
            plural(n), f->trace.events, plural(f->trace.events),
            to > from ? " (--full shows every step)" : "");
    if (o->no_steps)
        fprintf(p->out, "  positions only: %s\n", o->no_steps);
    write_steps(p, witness, n, s, o->full);
    fprintf(p->out, "  %s%s\n", o->no_steps ? "" : "'>' marks where another thread takes over; ",
            why->ends);
}

/* "the other way at a.c:44 executes and reads x": code that the recorded run did not come to. */
static void write_flips(FILE *out, const struct finding *r)
{
    if (r->nflips)
        fputs("\ncode that was not executed:\n", out);
    for (size_t i = 0; i < r->nflips; i++) {
        const struct finding_flip *flip = &r->flips[i];
        const struct side *side = &r->sides[flip->side];

        if (flip->by_value)
            fprintf(out,
                    "  - if %s, after event %" PRIu64 ", finds 0x%" PRIx64 " in the pointer at %s",
                    flip->thread, flip->event, flip->outcome, flip->location);
        else
            fprintf(out,
                    "  - if the branch of %s at %s (event %" PRIu64
                    ") goes the other way (outcome %" PRIu64 ")",
                    flip->thread, flip->location, flip->event, flip->outcome);
        fprintf(out, ", the code behind it executes, and the %s of %s at %s with it\n", side->op,
                r->variable, side->location);
    }
}

static void write_gone(FILE *out, uint64_t steps)
{
    if (steps)
        fprintf(out,
                "\nthe schedule has %" PRIu64 " steps: it was checked and not kept "
                "(--max-witness, --no-witness, or too many of them)\n",
                steps);
}

static void write_standing(FILE *out, const struct findings *f, const struct finding *r)
{
    struct buf b = { 0 };

    if (r->doubt)
        fprintf(out, "it is not observed, since %s\n", r->doubt);
    findings_phrase_cause(f, r, &b);
    if (b.len)
        fprintf(out, "it %s\n", b.data);
    buf_release(&b);
    if (r->strength == STRENGTH_OBSERVED && r->independent)
        fputs("it is independent: fixing another race would not order the two accesses\n", out);
}

void text_explain(const struct findings *f, const struct finding *r, const struct steps *s,
                  const struct explain_options *options, FILE *out)
{
    struct painter p;

    painter_init(&p, out, options->colour);
    fputs("race ", out);
    paint_bold(&p, r->id);
    fprintf(out, " on variable %s in '%s'\n", r->variable, f->trace.path);
    fprintf(out, "  seen %" PRIu64 " time%s, ", r->count, r->count == 1 ? "" : "s");
    paint_finders(&p, f, r);
    fputs("\n\nthe two accesses, in the order of the trace:\n", out);
    paint_side(&p, "first", &r->sides[0]);
    paint_side(&p, "second", &r->sides[1]);
    paint_allocation(&p, r);
    write_reasons(&p, f, r, options->usage);
    fputs("\nhow sure this is: ", out);
    paint_bold(&p, strength_names[r->strength]);
    fprintf(out, ", which means that %s\n", race_meaning(f, r));
    write_standing(out, f, r);
    write_flips(out, r);
    if (r->nchanges)
        fputs("\nthe schedule needs other values than those recorded:\n", out);
    changes_write(out, r);
    write_gone(out, r->long_witness);
    if (r->after && r->nwitness)
        fprintf(out, "\nthe first %" PRIu64 " event%s as recorded\n", r->after,
                r->after == 1 ? " happens" : "s happen");
    if (r->long_witness)
        return;
    if (r->strength == STRENGTH_OBSERVED && !r->nwitness) {
        fputs("\nthere is no schedule for this race, and it needs none: it is one of the recorded "
              "execution itself\n",
              out);
        return;
    }
    write_witness(&p, f, r->witness, r->nwitness,
                  &(struct purpose){ "race", "makes them meet", "the last two steps are the race" },
                  s, options);
}

/* ---- deadlocks ---- */

/* Who has what, who wants what, all around the ring. */
static void write_ring(struct painter *p, const struct deadlock_finding *d)
{
    fputs("\nwhy they cannot go on:\n", p->out);
    for (size_t i = 0; i < d->nwaiters; i++) {
        const struct waiter *w = &d->waiters[i], *holder = deadlock_holder(d, i);
        const struct waiter *before = &d->waiters[(i + d->nwaiters - 1) % d->nwaiters];

        fprintf(p->out, "  - %s holds %s and waits for %s%s, which %s holds\n", w->request.thread,
                before->lock, w->lock,
                strcmp(w->request.op, "acquire-shared") == 0 ? " (as a reader)" : "",
                holder->request.thread);
    }
    if (d->nwaiters > 1)
        fputs("  - no lock guards all this: they can hold what they hold at the same time\n",
              p->out);
    if (d->nwitness)
        fputs("  - the schedule below is possible and ends with all of them waiting\n", p->out);
}

void text_explain_deadlock(const struct findings *f, const struct deadlock_finding *d,
                           const struct steps *s, const struct explain_options *options, FILE *out)
{
    struct painter p;
    char ends[96];

    painter_init(&p, out, options->colour);
    fputs("deadlock ", out);
    paint_bold(&p, d->id);
    fprintf(out, " of %zu thread%s in '%s'\n", d->nwaiters, d->nwaiters == 1 ? "" : "s",
            f->trace.path);
    fprintf(out, "  seen %" PRIu64 " time%s, found by ", d->count, d->count == 1 ? "" : "s");
    paint_engines(&p, f, d->engines);
    fputs(d->nwaiters == 1 ? "\n\nthe request:\n"
                           : "\n\nthe requests, each waits for the thread of the next one, the "
                             "last for the first:\n",
          out);
    for (size_t i = 0; i < d->nwaiters; i++)
        paint_waiter(&p, d, i);
    write_ring(&p, d);
    fputs("\nhow sure this is: ", out);
    paint_bold(&p, strength_names[d->strength]);
    fprintf(out, ", which means that %s\n", deadlock_meaning(d->strength));
    write_gone(out, d->long_witness);
    if (d->long_witness)
        return;
    if (d->nwaiters == 1)
        snprintf(ends, sizeof(ends), "the last step is the request that waits for ever");
    else
        snprintf(ends, sizeof(ends), "the last %zu steps are the requests that wait for ever",
                 d->nwaiters);
    write_witness(&p, f, d->witness, d->nwitness,
                  &(struct purpose){ "deadlock", "leads there", ends }, s, options);
}
