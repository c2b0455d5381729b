/* phrase.c - a finding in one sentence, and its place in a file */
#include "report/phrase.h"
#include "report/stacks.h"

#include <string.h>
#include <unistd.h>

struct file_place file_place_of(const char *location)
{
    struct file_place p = { 0 };

    location = place_here(location);
    if (location && location_split(location, &p.file_len, &p.line, &p.column))
        p.file = location;
    return p;
}

const char *place_here(const char *location)
{
    static char folder[4096];
    size_t n;

    if (!folder[0] && !getcwd(folder, sizeof(folder)))
        return location;
    n = strlen(folder);
    if (location && strncmp(location, folder, n) == 0 && location[n] == '/')
        return location + n + 1;
    return location;
}

const char *side_place(const struct side *s)
{
    const char *own = stack_own_location(&s->stack);

    return place_here(own ? own : s->location);
}

void phrase_side(struct buf *b, const struct side *s)
{
    buf_addf(b, "%s by %s", s->op, s->thread);
    if (s->thread_name)
        buf_addf(b, " (%s)", s->thread_name);
    buf_addf(b, " at %s", side_place(s));
    if (s->function)
        buf_addf(b, " in %s", s->function);
}

void phrase_race(struct buf *b, const struct finding *r)
{
    buf_addf(b, "%s on %s: ", r->descriptor ? FD_RACE : "data race", r->variable);
    phrase_side(b, &r->sides[0]);
    buf_addstr(b, ", and ");
    phrase_side(b, &r->sides[1]);
}

void phrase_deadlock(struct buf *b, const struct deadlock_finding *d)
{
    buf_addstr(b, "deadlock: ");
    for (size_t i = 0; i < d->nwaiters; i++) {
        const struct waiter *w = &d->waiters[i];

        buf_addf(b, "%s%s waits for %s at %s", i ? "; " : "", w->request.thread, w->lock,
                 side_place(&w->request));
        if (w->request.function)
            buf_addf(b, " in %s", w->request.function);
        buf_addf(b, ", held by %s", deadlock_holder(d, i)->request.thread);
    }
}
