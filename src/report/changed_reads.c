/* changed_reads.c - reads of a schedule that see another value than they did, in words */
#include "report/changed_reads.h"
#include "report/phrase.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN = 6 };

/* ---- from the engine ---- */

static uint64_t moved(uint64_t position, uint64_t first, uint64_t shift)
{
    return position != UINT64_MAX && position >= first ? position + shift : position;
}

void changes_take(struct findings *f, struct finding *to, const struct race *from, uint64_t first,
                  uint64_t shift)
{
    to->nchanges = from->nchanges;
    to->by_values = from->by_values;
    to->changes =
        from->nchanges ? arena_alloc(&f->memory, from->nchanges * sizeof(*to->changes)) : NULL;
    for (size_t i = 0; i < from->nchanges; i++) {
        const struct value_change *c = &from->changes[i];

        to->changes[i] = (struct finding_change){ .event = moved(c->read, first, shift),
                                                  .writer = moved(c->writer, first, shift),
                                                  .branch = moved(c->branch, first, shift),
                                                  .value = c->value,
                                                  .recorded = c->recorded,
                                                  .has_value = c->has_value,
                                                  .has_recorded = c->has_recorded };
    }
}

void changes_want(const struct finding *r, struct steps *s)
{
    for (size_t i = 0; i < r->nchanges; i++) {
        steps_want(s, r->changes[i].event);
        if (r->changes[i].writer != CHANGE_FIRST)
            steps_want(s, r->changes[i].writer);
        if (r->changes[i].branch != CHANGE_NONE)
            steps_want(s, r->changes[i].branch);
    }
}

/* "r(y=5)": y */
static const char *variable_of(struct findings *f, const char *operation)
{
    const char *from = strchr(operation, '('), *to;
    struct buf b = { 0 };
    const char *name;

    if (!from)
        return operation;
    to = from + 1 + strcspn(from + 1, "=)");
    buf_add(&b, from + 1, (size_t)(to - from - 1));
    buf_addch(&b, 0);
    name = findings_string(f, b.data);
    buf_release(&b);
    return name;
}

void changes_fill(struct findings *f, struct finding *r, const struct steps *s)
{
    for (size_t i = 0; i < r->nchanges; i++) {
        struct finding_change *c = &r->changes[i];
        const struct step_text *t = steps_get(s, c->event);
        const struct step_text *w = c->writer == CHANGE_FIRST ? NULL : steps_get(s, c->writer);
        const struct step_text *b = c->branch == CHANGE_NONE ? NULL : steps_get(s, c->branch);

        c->thread = t ? t->thread : NULL;
        c->location = t ? t->location : NULL;
        c->variable = t && t->operation ? variable_of(f, t->operation) : NULL;
        c->written_at = w ? w->location : NULL;
        c->branch_at = b ? b->location : NULL;
    }
}

/* ---- in words ---- */

static bool turns(const struct finding *r, const struct finding_change *c)
{
    for (size_t i = 0; i < r->nflips; i++)
        if (r->flips[i].event == c->branch)
            return true;
    return false;
}

void changes_phrase(struct buf *b, const struct finding *r, const struct finding_change *c)
{
    buf_addf(b, "if %s reads ", c->thread ? c->thread : "a thread");
    if (c->has_value)
        buf_addf(b, "%s = %" PRIu64, c->variable ? c->variable : "memory", c->value);
    else
        buf_addf(b, "something else from %s", c->variable ? c->variable : "memory");
    if (c->written_at)
        buf_addf(b, " (written at %s)", place_here(c->written_at));
    else if (c->writer == CHANGE_FIRST)
        buf_addstr(b, " (its first value)");
    if (c->has_recorded)
        buf_addf(b, " instead of %" PRIu64, c->recorded);
    if (c->location)
        buf_addf(b, " at %s", place_here(c->location));
    if (c->branch_at)
        buf_addf(b, ", the branch at %s %s", place_here(c->branch_at),
                 turns(r, c) ? "goes the other way" : "still holds");
    else
        buf_addstr(b, ", no branch before the two accesses goes another way");
}

void changes_write(FILE *out, const struct finding *r)
{
    for (size_t i = 0; i < r->nchanges && i < SHOWN; i++) {
        struct buf b = { 0 };

        changes_phrase(&b, r, &r->changes[i]);
        buf_addch(&b, 0);
        fprintf(out, "  values  %s\n", b.data);
        buf_release(&b);
    }
    if (r->nchanges > SHOWN)
        fprintf(out, "          and %zu more reads see other values\n", r->nchanges - SHOWN);
}
