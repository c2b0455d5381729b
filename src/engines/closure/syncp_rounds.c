/* syncp_rounds.c - in several rounds what does not fit into one
 *
 * A variable that races does so at once, nearly always: the first accesses of
 * each site are enough, however often a loop comes by. So the first round
 * keeps only those. Where they do not decide, later rounds stream the trace
 * again and keep all accesses of as many variables as the memory allows.
 */
#include "base/alloc.h"
#include "engines/closure/syncp.h"

#include <stdlib.h>

void rounds_release(struct rounds *r)
{
    free(r->pending);
    *r = (struct rounds){ 0 };
}

static int compare_pending(const void *a, const void *b)
{
    const struct pending *x = a, *y = b;

    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    return x->life < y->life ? -1 : x->life > y->life;
}

/* A part needs the history of the whole, so families stay together. */
void rounds_note(struct rounds *r, const struct collection *c)
{
    bool *open = xcalloc(c->nlives + 1, sizeof(*open));

    for (size_t i = 0; i < c->nlives; i++)
        open[c->lives[i].family] |= c->lives[i].open;
    for (size_t i = 0; i < c->nlives; i++) {
        const struct watched *l = &c->lives[i];

        if (!open[l->family])
            continue;
        GROW(r->pending, r->cap, r->count + 1);
        r->pending[r->count++] = (struct pending){ l->life, l->family, l->wanted };
    }
    if (r->count)
        qsort(r->pending, r->count, sizeof(*r->pending), compare_pending);
    free(open);
}

/* The records of the family that begins here; *end is behind it. */
static uint64_t family_records(const struct rounds *r, size_t first, size_t *end)
{
    uint64_t wanted = 0;

    for (*end = first; *end < r->count; ++*end) {
        if (r->pending[*end].family != r->pending[first].family)
            break;
        wanted += r->pending[*end].wanted;
    }
    return wanted;
}

bool rounds_next(struct rounds *r, struct suspects *out)
{
    size_t first = r->done, end;
    uint64_t sum = 0;

    *out = (struct suspects){ 0 };
    while (r->done < r->count) {
        sum += family_records(r, r->done, &end);
        if (sum > RECORDS_MAX && r->done > first)
            break;
        for (; r->done < end; r->done++)
            suspects_add(out, r->pending[r->done].life);
    }
    return r->done > first;
}
