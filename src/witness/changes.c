/* changes.c - schedules in which reads see other values than they did
 *
 * The values are computed along the schedule (values.h) from what was recorded
 * of the program. Here: what memory holds at first, and whether the values that
 * come out are those that the witness lists.
 */
#include "witness/witness_inside.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t written_key(uint32_t life, uint64_t value)
{
    return map_hash(value ^ (uint64_t)life << 40) ^ life;
}

/* Which values are written to which memory, and where some are not known. */
static void note_written(const struct witness_trace *w, struct map *written, bool *unknown)
{
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t c = 0; c < w->places[i].count && w->places[i].rank != NONE; c++) {
            const struct touch *t = &w->touches[w->places[i].touch + c];
            struct values_cell cell = cell_of(w, i, c);
            uint64_t value;

            if (!is_writer(w->events[i].op) || is_allocated(w, t->life))
                continue;
            if (changing_recorded(w->changing, i, true, cell.offset, cell.bytes, &value))
                map_put(written, written_key(t->life, value), 1);
            else
                unknown[t->life] = true;
        }
}

struct first {
    uint64_t value;
    bool known, refuted;
    bool denied; /* some read found something else there than the program's file has */
};

/* What the program's file has there. */
static bool file_value(const struct witness_trace *w, uint32_t life, uint64_t *value)
{
    uint64_t start = w->cells.start[life];

    return execution_first_value(changing_execution(w->changing), start,
                                 w->cells.start[life + 1] - start, value);
}

/* A read that found nothing written tells what was there; where the order of accesses is not exact,
 * only if nobody writes such a value. */
static void learn_first(const struct witness_trace *w, struct first *first,
                        const struct map *written, const bool *unknown, uint32_t i, uint32_t c)
{
    const struct touch *t = &w->touches[w->places[i].touch + c];
    struct values_cell cell = cell_of(w, i, c);
    struct first *f = &first[t->life];
    uint64_t value, file;

    if (t->writer != NONE || is_allocated(w, t->life) || is_named(w->cells.start[t->life]) ||
        !changing_recorded(w->changing, i, false, cell.offset, cell.bytes, &value))
        return;
    f->denied |= file_value(w, t->life, &file) && file != value;
    if (!w->exact && (unknown[t->life] || map_get(written, written_key(t->life, value))))
        return;
    f->refuted |= f->known && f->value != value;
    f->value = value;
    f->known = true;
}

static void set_first_values(struct witness_trace *w)
{
    struct map written = { 0 };
    bool *unknown = xcalloc((size_t)w->nlives + 1, sizeof(*unknown));
    struct first *first = xcalloc(w->cells.count + 1, sizeof(*first));
    uint64_t value;

    note_written(w, &written, unknown);
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t c = 0; c < w->places[i].count && w->places[i].rank != NONE; c++)
            if (reads_memory(&w->events[i]))
                learn_first(w, first, &written, unknown, i, c);
    for (uint32_t life = 0; life < w->cells.count; life++) {
        if (is_named(w->cells.start[life]))
            changing_set_first(w->changing, life, 0);
        else if (first[life].known && !first[life].refuted)
            changing_set_first(w->changing, life, first[life].value);
        else if (!first[life].refuted && !first[life].denied && !is_allocated(w, life) &&
                 file_value(w, life, &value))
            changing_set_first(w->changing, life, value);
    }
    map_release(&written);
    free(unknown);
    free(first);
}

void witness_trace_set_execution(struct witness_trace *w, const struct execution *e)
{
    if (w->changing && changing_execution(w->changing) == e)
        return;
    changing_free(w->changing);
    w->changing = e ? changing_new(e, w->nthreads, w->nlives) : NULL;
    if (e)
        set_first_values(w);
}

/* The values that came out are those that the witness lists. */
static bool check_changes(const struct witness_trace *w, const uint64_t *order, size_t n,
                          const struct witness_change *changes, size_t nchanges, struct error *err)
{
    size_t next = 0;

    for (size_t i = 0; i + 2 < n; i++) {
        uint32_t event = (uint32_t)order[i], writer;
        uint64_t value;
        bool known;

        if (!changing_changed(w->changing, event, &value, &known, &writer))
            continue;
        if (next == nchanges || changes[next].read != event)
            return refuse(err, event, "reads something else, and the witness does not say so");
        if (known != changes[next].known || (known && value != changes[next].value))
            return refuse(err, event, "reads %" PRIu64 ", not what the witness says", value);
        if (known && changes[next].writer != (writer == NONE ? UINT64_MAX : writer))
            return refuse(err, event, "reads what another event wrote than the witness says");
        next++;
    }
    if (next < nchanges)
        return refuse(err, changes[next].read, "reads what it read, not another value");
    return true;
}

int witness_check_values(struct witness_trace *w, const uint64_t *order, size_t n,
                         const struct witness_change *changes, size_t nchanges, struct error *err)
{
    int accepted;

    if (n < 2 || !w->changing) {
        error_set(err, n < 2 ? "a witness ends with two racing accesses" : "there is no execution");
        return 0;
    }
    w->relaxed = true;
    accepted = check_sequence(w, order, n, 2, false, err) &&
               check_changes(w, order, n, changes, nchanges, err);
    changing_clear(w->changing);
    w->relaxed = false;
    return accepted;
}
