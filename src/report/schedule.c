/* schedule.c - choose the steps of a witness that a report shows */
#include "report/schedule.h"

#include "base/alloc.h"

#include <stdlib.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void schedule_want(const uint64_t *witness, size_t n, struct steps *s, size_t *room)
{
    size_t far = least(least(n, SCHEDULE_FAR), *room), wanted = least(n, SCHEDULE_TAIL);

    if (far > wanted)
        wanted = far;
    *room -= least(*room, wanted);
    for (size_t i = n - wanted; i < n; i++)
        steps_want(s, witness[i]);
}

/* The last steps whose texts are there: as many as were wanted. */
static size_t tail_start(const uint64_t *witness, size_t n, const struct steps *s)
{
    size_t start = n;

    while (start > 0 && n - start < SCHEDULE_FAR && steps_get(s, witness[start - 1]))
        start--;
    return start;
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

static uint64_t count_switches(const struct step_text *const *tail, size_t n)
{
    uint64_t switches = 0;

    for (size_t i = 1; i < n; i++)
        switches += tail[i]->thread != tail[i - 1]->thread;
    return switches;
}

static size_t take_chosen(struct findings *f, const struct step_text *const *tail,
                          const bool *chosen, size_t start, size_t n,
                          const struct schedule_step **out)
{
    struct schedule_step *steps;
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += chosen[i];
    steps = arena_alloc(&f->memory, (count + 1) * sizeof(*steps));
    count = 0;
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            steps[count++] = (struct schedule_step){ start + i, tail[i]->position, tail[i]->thread,
                                                     tail[i]->operation, tail[i]->location };
    *out = steps;
    return count;
}

size_t schedule_choose(struct findings *f, const uint64_t *witness, size_t length, size_t ends,
                       const struct steps *s, struct schedule_choice *out)
{
    size_t start = tail_start(witness, length, s), n = length - start;
    const struct step_text **tail;
    bool *chosen;

    *out = (struct schedule_choice){ 0 };
    if (n < 2)
        return 0;
    tail = xcalloc(n, sizeof(*tail));
    chosen = xcalloc(n, sizeof(*chosen));
    for (size_t i = 0; i < n; i++)
        tail[i] = steps_get(s, witness[start + i]);
    for (size_t i = 1; i <= ends && i <= n; i++)
        mark_last_of(tail, n, tail[n - i]->thread, chosen);
    mark_switches(tail, n, chosen);
    fill_gaps(chosen, n, length <= SCHEDULE_SHOWN);
    out->switches = start == 0 ? count_switches(tail, n) : 0;
    out->count = take_chosen(f, tail, chosen, start, n, &out->steps);
    free(tail);
    free(chosen);
    return out->count;
}
