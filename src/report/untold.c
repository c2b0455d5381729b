/* untold.c - findings that there was no time to collect details of
 *
 * A user who stops the command while the trace is read for details (enrich.c) gets the findings
 * that are ready. The others have nothing but their locations: these are kept as texts, for whoever
 * prints messages, and the findings go. Of what a schedule changes the details come last.
 */
#include "report/findings.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <stdlib.h>

static bool is_told(const struct finding *r)
{
    return r->sides[0].thread && r->sides[1].thread && !r->nflips && !r->nchanges;
}

static bool is_told_deadlock(const struct deadlock_finding *d)
{
    for (size_t i = 0; i < d->nwaiters; i++)
        if (!d->waiters[i].request.thread || !d->waiters[i].lock)
            return false;
    return true;
}

static void add_place(struct buf *b, const struct side *s)
{
    buf_addf(b, "%s%s", b->len ? " and " : "", s->location ? s->location : "?");
}

static void keep_text(struct findings *f, struct buf *places, enum strength strength)
{
    buf_addf(places, ", %s", strength_names[strength]);
    GROW(f->untold.names, f->untold.cap, f->untold.count + 1);
    f->untold.names[f->untold.count++] = findings_string(f, places->data);
    if (strength < f->untold_strength)
        f->untold_strength = strength;
    buf_release(places);
}

static bool keep_told(void *findings, const struct finding *race,
                      const struct deadlock_finding *deadlock)
{
    struct buf places = { 0 };

    if (race ? is_told(race) : is_told_deadlock(deadlock))
        return true;
    for (unsigned k = 0; race && k < 2; k++)
        add_place(&places, &race->sides[k]);
    for (size_t i = 0; deadlock && i < deadlock->nwaiters; i++)
        add_place(&places, &deadlock->waiters[i].request);
    keep_text(findings, &places, race ? race->strength : deadlock->strength);
    return false;
}

void findings_drop_untold(struct findings *f)
{
    f->untold_strength = STRENGTH_COUNT;
    if (f->stopped)
        findings_keep(f, keep_told, f);
}
