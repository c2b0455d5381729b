/* explain.c - one race in full: the accesses, why nothing orders them, the witness */
#include "report/text.h"
#include "report/paint.h"

#include <inttypes.h>
#include <string.h>

/* With a long witness, how many of the steps shown come from its start. */
enum { HEAD_STEPS = 10 };

/* Steps [*from, *to) are left out. */
static void omitted_steps(const struct finding *r, bool full, size_t *from, size_t *to)
{
    *from = *to = 0;
    if (full || r->nwitness <= EXPLAIN_STEPS)
        return;
    *from = HEAD_STEPS;
    *to = r->nwitness - (EXPLAIN_STEPS - HEAD_STEPS);
}

void text_explain_want(const struct finding *r, bool full, struct steps *s)
{
    size_t from, to;

    omitted_steps(r, full, &from, &to);
    for (size_t i = 0; i < r->nwitness; i++)
        if (i < from || i >= to)
            steps_want(s, r->witness[i]);
}

static const struct held_lock *find_lock(const struct side *s, const char *name)
{
    for (size_t i = 0; i < s->nlocks; i++)
        if (strcmp(s->locks[i].name, name) == 0)
            return &s->locks[i];
    return NULL;
}

static void write_common_locks(struct painter *p, const struct finding *r)
{
    const struct side *a = &r->sides[0], *b = &r->sides[1];
    size_t common = 0;

    for (size_t i = 0; i < a->nlocks; i++) {
        const struct held_lock *x = &a->locks[i], *y = find_lock(b, x->name);

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
    if (a->nlocks == 0 && b->nlocks == 0)
        fputs("  - neither access holds a lock\n", p->out);
    else if (a->nlocks == 0 || b->nlocks == 0)
        fprintf(p->out, "  - the access by %s holds no lock\n", (a->nlocks ? b : a)->thread);
    else
        fputs("  - each access holds a lock, but no lock is held by both\n", p->out);
}

static bool found_by(const struct findings *f, const struct finding *r, const char *engine)
{
    for (size_t i = 0; i < f->nengines; i++)
        if ((r->engines >> i & 1) && strcmp(f->engines[i].name, engine) == 0)
            return true;
    return false;
}

static void write_reasons(struct painter *p, const struct findings *f, const struct finding *r)
{
    bool hb = found_by(f, r, "hb") || found_by(f, r, "fasttrack"), shb = found_by(f, r, "shb");

    fputs("\nwhy nothing orders them:\n", p->out);
    write_common_locks(p, r);
    if (hb || shb)
        fprintf(p->out,
                "  - no chain of synchronisation (locks, fork and join, atomics ...) leads from "
                "event %" PRIu64 " to event %" PRIu64 "\n",
                r->sides[0].event, r->sides[1].event);
    if (shb)
        fputs("  - no chain through the writes that reads observed leads there either\n", p->out);
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

static void write_steps(struct painter *p, const struct finding *r, const struct steps *s,
                        bool full)
{
    struct paint_widths w = step_widths(s);
    const char *before = NULL;
    size_t from, to;

    omitted_steps(r, full, &from, &to);
    paint_step_head(p, &w);
    for (size_t i = 0; i < r->nwitness; i++) {
        const struct step_text *t = steps_get(s, r->witness[i]);
        struct schedule_step step = { .index = i, .event = r->witness[i] };

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

static void write_witness(struct painter *p, const struct findings *f, const struct finding *r,
                          const struct steps *s, const struct explain_options *o)
{
    size_t from, to;

    if (!r->nwitness) {
        fputs("\nthere is no schedule for this race: it was not asked for, too long, or its "
              "engines do not make one\n",
              p->out);
        return;
    }
    omitted_steps(r, o->full, &from, &to);
    fprintf(p->out, "\nschedule that makes them meet, %zu steps of the %" PRIu64 " events%s:\n",
            r->nwitness, f->trace.events, to > from ? " (--full shows every step)" : "");
    if (o->no_steps)
        fprintf(p->out, "  positions only: %s\n", o->no_steps);
    write_steps(p, r, s, o->full);
    fprintf(p->out, "  %sthe last two steps are the race\n",
            o->no_steps ? "" : "'>' marks where another thread takes over; ");
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
    write_reasons(&p, f, r);
    fputs("\nhow sure this is: ", out);
    paint_bold(&p, strength_names[r->strength]);
    fprintf(out, ", which means that %s\n", strength_meaning(r->strength));
    write_witness(&p, f, r, s, options);
}
