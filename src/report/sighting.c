/* sighting.c - a race that was seen while the program runs, as a finding */
#include "report/sighting.h"
#include "base/alloc.h"
#include "report/paint.h"
#include "report/stacks.h"

#include <inttypes.h>
#include <string.h>

/* Frames that are shown of a stack. */
enum { FRAMES_SHOWN = 8 };

static void sighting_fill_side(struct side *to, struct findings *f, struct naming *n,
                               const struct tables *t, const struct sighted_side *from)
{
    const char *function = tables_site_function(t, from->site);

    to->thread = findings_string(f, intern_get(&t->threads, from->thread));
    to->op = from->op;
    to->stack = stack_make(n, from->site, from->calls, from->ncalls, from->missing);
    to->location = findings_string(
        f, from->site == SITE_NONE ? "?" : naming_location(n, tables_location(t, from->site)));
    to->function = naming_function(n, function);
    if (function && to->function && strcmp(function, to->function) != 0)
        to->symbol = findings_string(f, function);
    to->variable =
        from->site == SITE_NONE ? NULL : findings_string(f, tables_site_variable(t, from->site));
    to->locks_unknown = true;
}

/* What the linker or the compiler calls it. */
static const char *name_of(struct findings *f, struct naming *n, const struct finding *r)
{
    const char *name = naming_global(n, r->address, 1), *other = r->sides[1].variable;
    char text[32];

    if (name)
        return name;
    if (r->sides[0].variable && (!other || strcmp(r->sides[0].variable, other) == 0))
        return r->sides[0].variable;
    if (other && !r->sides[0].variable)
        return other;
    snprintf(text, sizeof(text), "0x%" PRIx64, r->address);
    return findings_string(f, text);
}

struct finding *sighting_add(struct findings *f, struct naming *n, const struct tables *t,
                             const struct sighted_side sides[2], uint64_t address)
{
    struct finding *r;

    GROW(f->races, f->cap, f->count + 1);
    r = &f->races[f->count++];
    *r = (struct finding){ .address = address, .bytes = 1, .count = 1, .strength = STRENGTH_MAYBE };
    for (int i = 0; i < 2; i++)
        sighting_fill_side(&r->sides[i], f, n, t, &sides[i]);
    r->variable = name_of(f, n, r);
    if (naming_is_descriptor(n, address))
        findings_descriptor(r);
    findings_identify(f);
    return r;
}

static void write_side(const struct painter *p, const struct side *s)
{
    size_t shown = s->stack.count < FRAMES_SHOWN ? s->stack.count : FRAMES_SHOWN;

    fprintf(p->out, "  %s by %s", s->op, s->thread);
    if (!shown)
        fprintf(p->out, " at %s", paint_location(p, s->location));
    for (size_t i = 0; i < shown; i++) {
        const struct frame *frame = &s->stack.frames[i];

        fprintf(p->out, "%s%s%s%s", i ? "\n      called from " : " at ",
                frame->location ? paint_location(p, frame->location) : "",
                frame->location && frame->function ? " in " : "",
                frame->function ? frame->function : "");
    }
    if (s->stack.count + s->stack.omitted > shown)
        fprintf(p->out, "\n      and %" PRIu64 " more",
                (uint64_t)(s->stack.count - shown) + s->stack.omitted);
    fputc('\n', p->out);
}

void sighting_write(const struct finding *r, FILE *out)
{
    struct painter p;

    painter_init(&p, out, false);
    fprintf(out, "race on %s, seen while the program runs:\n", r->variable);
    for (int i = 0; i < 2; i++)
        write_side(&p, &r->sides[i]);
}
