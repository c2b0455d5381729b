/* schedule.c - choose the steps of a witness that a report shows */
#include "report/schedule.h"

#include <string.h>

static size_t tail_start(size_t n)
{
    return n > SCHEDULE_TAIL ? n - SCHEDULE_TAIL : 0;
}

void schedule_want(const uint64_t *witness, size_t n, struct steps *s)
{
    for (size_t i = tail_start(n); i < n; i++)
        steps_want(s, witness[i]);
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

size_t schedule_choose(struct findings *f, const uint64_t *witness, size_t length, size_t ends,
                       const struct steps *s, const struct schedule_step **out)
{
    const struct step_text *tail[SCHEDULE_TAIL];
    bool chosen[SCHEDULE_TAIL] = { false };
    size_t start = tail_start(length), n = length - start, count = 0;
    struct schedule_step *steps;

    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!(tail[i] = steps_get(s, witness[start + i])))
            return 0;
    for (size_t i = 1; i <= ends && i <= n; i++)
        mark_last_of(tail, n, tail[n - i]->thread, chosen);
    mark_switches(tail, n, chosen);
    fill_gaps(chosen, n, length <= SCHEDULE_SHOWN);
    steps = arena_alloc(&f->memory, n * sizeof(*steps));
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            steps[count++] = (struct schedule_step){ start + i, tail[i]->position, tail[i]->thread,
                                                     tail[i]->operation, tail[i]->location };
    *out = steps;
    return count;
}
