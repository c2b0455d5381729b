/* schedule.c - choose the steps of a witness that a report shows */
#include "report/schedule.h"

#include <string.h>

static size_t tail_start(const struct finding *r)
{
    return r->nwitness > SCHEDULE_TAIL ? r->nwitness - SCHEDULE_TAIL : 0;
}

void schedule_want(const struct finding *r, struct steps *s)
{
    for (size_t i = tail_start(r); i < r->nwitness; i++)
        steps_want(s, r->witness[i]);
}

/* Strings of one home are equal when their pointers are. */
static void mark_last_of(const struct step_text *const *tail, size_t n, const char *thread,
                         bool *chosen)
{
    size_t left = SCHEDULE_EACH;

    for (size_t i = n; i-- > 0 && left > 0;) {
        if (tail[i]->thread != thread)
            continue;
        chosen[i] = true;
        left--;
    }
}

/* Where another thread takes over, that step and the one before it, from the end backwards
 * until enough are chosen. */
static void mark_switches(const struct step_text *const *tail, size_t n, bool *chosen)
{
    size_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += chosen[i];
    for (size_t i = n; i-- > 1 && total + 2 <= SCHEDULE_SHOWN;) {
        if (tail[i]->thread == tail[i - 1]->thread)
            continue;
        total += !chosen[i] + !chosen[i - 1];
        chosen[i] = chosen[i - 1] = true;
    }
}

/* A line that says "1 more step" is no shorter than the step. */
static void fill_gaps(bool *chosen, size_t n, bool all)
{
    for (size_t i = 0; i < n; i++)
        if (all || (i > 0 && i + 1 < n && chosen[i - 1] && chosen[i + 1]))
            chosen[i] = true;
}

void schedule_choose(struct findings *f, struct finding *r, const struct steps *s)
{
    const struct step_text *tail[SCHEDULE_TAIL];
    bool chosen[SCHEDULE_TAIL] = { false };
    size_t start = tail_start(r), n = r->nwitness - start, count = 0;
    struct schedule_step *out;

    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        if (!(tail[i] = steps_get(s, r->witness[start + i])))
            return;
    mark_last_of(tail, n, tail[n - 1]->thread, chosen);
    mark_last_of(tail, n, tail[n - 2]->thread, chosen);
    mark_switches(tail, n, chosen);
    fill_gaps(chosen, n, r->nwitness <= SCHEDULE_SHOWN);
    out = arena_alloc(&f->memory, n * sizeof(*out));
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            out[count++] = (struct schedule_step){ start + i, tail[i]->position, tail[i]->thread,
                                                   tail[i]->operation, tail[i]->location };
    r->schedule = out;
    r->nschedule = count;
}
