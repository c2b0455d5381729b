/* paint.c - pieces that the text report and `explain` share */
#include "report/paint.h"

#include <inttypes.h>
#include <string.h>

size_t paint_width(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void paint_padded(struct painter *p, const char *s, size_t width)
{
    size_t n = paint_width(s);

    fputs(s, p->out);
    for (; n < width; n++)
        fputc(' ', p->out);
}

void paint_bold(struct painter *p, const char *s)
{
    fprintf(p->out, "%s%s%s", p->colour ? "\033[1m" : "", s, p->colour ? "\033[0m" : "");
}

void paint_engines(struct painter *p, const struct findings *f, uint64_t engines)
{
    const char *separator = "";

    for (size_t i = 0; i < f->nengines; i++) {
        if (!(engines >> i & 1))
            continue;
        fprintf(p->out, "%s%s", separator, f->engines[i].name);
        separator = ", ";
    }
}

static void paint_locks(struct painter *p, const struct side *s)
{
    fprintf(p->out, "          locks held: %s", s->nlocks ? "" : "none");
    for (size_t i = 0; i < s->nlocks; i++) {
        const struct held_lock *l = &s->locks[i];

        fprintf(p->out, "%s%s%s", i ? ", " : "", l->name, l->shared ? " shared" : "");
        if (l->location)
            fprintf(p->out, " (taken at %s)", l->location);
    }
    fputc('\n', p->out);
}

/* A stack of one frame without a function says no more than the access itself. */
static void paint_stack(struct painter *p, const struct side *s)
{
    if (s->nstack == 0 || (s->nstack == 1 && !s->stack_omitted && !s->stack[0].function))
        return;
    for (size_t i = 0; i < s->nstack; i++) {
        const struct frame *f = &s->stack[i];

        fprintf(p->out, "          #%zu %s%s%s\n", i, f->function ? f->function : "?",
                f->location ? " at " : "", f->location ? f->location : "");
    }
    if (s->stack_omitted)
        fprintf(p->out, "          ... and %" PRIu64 " outer frames\n", s->stack_omitted);
}

void paint_side(struct painter *p, const char *label, const struct side *s)
{
    fprintf(p->out, "  %-7s %s", label, s->op);
    if (s->order)
        fprintf(p->out, " (%s)", s->order);
    if (s->value)
        fprintf(p->out, " of %s", s->value);
    if (s->old)
        fprintf(p->out, " over %s", s->old);
    fprintf(p->out, " by %s at %s", s->thread, s->location);
    if (s->function)
        fprintf(p->out, " in %s", s->function);
    fprintf(p->out, " (event %" PRIu64 ")\n", s->event);
    paint_stack(p, s);
    paint_locks(p, s);
    if (s->creator)
        fprintf(p->out, "          thread %s was created by %s at %s (event %" PRIu64 ")\n",
                s->thread, s->creator, s->created_at, s->created_event);
}

void paint_allocation(struct painter *p, const struct finding *r)
{
    const struct allocation *a = r->allocation;

    if (a)
        fprintf(p->out,
                "  memory  byte %" PRIu64 " of %" PRIu64 " allocated by %s at %s (event %" PRIu64
                ")\n",
                a->offset, a->bytes, a->thread, a->location, a->event);
}

void paint_step_head(struct painter *p, const struct paint_widths *w)
{
    fputs("      step     event", p->out);
    if (w->thread) {
        fputs("  ", p->out);
        paint_padded(p, "thread", w->thread);
        fputs("  ", p->out);
        paint_padded(p, "operation", w->operation);
        fputs("  location", p->out);
    }
    fputc('\n', p->out);
}

void paint_step(struct painter *p, const struct schedule_step *step, bool is_switch,
                const struct paint_widths *w)
{
    fprintf(p->out, "  %c %6" PRIu64 " %9" PRIu64, is_switch ? '>' : ' ', step->index, step->event);
    if (step->thread) {
        fputs("  ", p->out);
        paint_padded(p, step->thread, w->thread);
        fputs("  ", p->out);
        paint_padded(p, step->operation, w->operation);
        fprintf(p->out, "  %s", step->location);
    }
    fputc('\n', p->out);
}

void paint_gap(struct painter *p, uint64_t omitted)
{
    fprintf(p->out, "         ... %" PRIu64 " more step%s\n", omitted, omitted == 1 ? "" : "s");
}
