/* text.c - the report for people: tables of all races and deadlocks, then each in detail */
#include "report/text.h"
#include "base/plural.h"
#include "report/changed_reads.h"
#include "report/paint.h"
#include "report/recorded.h"
#include "report/undecided.h"
#include "trace/process.h"

#include <inttypes.h>
#include <string.h>

static uint64_t all_engines(const struct findings *f)
{
    return f->nengines == 64 ? UINT64_MAX : ((uint64_t)1 << f->nengines) - 1;
}

static uint64_t counter_of(const struct findings_engine *e, const char *name)
{
    for (size_t i = 0; i < e->ncounters; i++)
        if (strcmp(e->counters[i].name, name) == 0)
            return e->counters[i].value;
    return 0;
}

enum { LEFT_SHOWN = 5 };

static void write_left_pair(struct painter *p, const struct findings_left *l)
{
    fprintf(p->out, "  %s and %s: ", l->first, l->second);
    if (!l->calls[0])
        fputs("calls, together with locks and values", p->out);
    for (int i = 0; i < 3 && l->calls[i]; i++)
        fprintf(p->out, "%s%s", i ? ", " : "calls of ", l->calls[i]);
    fputc('\n', p->out);
}

/* What the cascade knows and does not report (engines/exact/judge.h). */
static void write_left_out(struct painter *p, const struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++) {
        uint64_t n = counter_of(&f->engines[i], "may_be_ordered_by_calls");

        if (n)
            fprintf(p->out,
                    "left out: %" PRIu64 " pair%s of accesses that calls of untraced code may "
                    "order (--engine hb,syncp,wcp,osr lists them)\n",
                    n, plural(n));
    }
    for (size_t i = 0; i < f->nleft && i < LEFT_SHOWN; i++)
        write_left_pair(p, &f->left[i]);
    if (f->nleft > LEFT_SHOWN)
        fprintf(p->out, "  and others (--format json lists %zu)\n", f->nleft);
    if (f->nleft && f->left[0].calls[0])
        fputs("  to decide it, build these functions with heddle-cc, and do not exclude them\n",
              p->out);
}

/* The next thing that an engine left. What the trace has lost is the last line's. */
static bool next_left(const struct findings_engine *e, size_t *at, struct buf *b)
{
    for (b->len = 0; undecided_next(e, at, b); b->len = 0)
        if (*at > e->ncounters || strcmp(e->counters[*at - 1].name, UNDECIDED_CUT) != 0)
            return true;
    return false;
}

static bool has_left(const struct findings_engine *e, const char *what)
{
    struct buf b = { 0 };
    bool same = false;

    for (size_t at = 0; !same && next_left(e, &at, &b);)
        same = strcmp(b.data, what) == 0;
    buf_release(&b);
    return same;
}

/* What several engines left for the same reason is one line, where the first of them has it. */
static void write_left(struct painter *p, const struct findings *f, size_t first, const char *what)
{
    for (size_t i = 0; i < first; i++)
        if (has_left(&f->engines[i], what))
            return;
    fprintf(p->out, "incomplete: %s", f->engines[first].name);
    for (size_t i = first + 1; i < f->nengines; i++)
        if (has_left(&f->engines[i], what))
            fprintf(p->out, ", %s", f->engines[i].name);
    fprintf(p->out, ": %s\n", what);
}

static void write_incomplete(struct painter *p, const struct findings *f)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < f->nengines; i++)
        for (size_t at = 0; next_left(&f->engines[i], &at, &b);)
            write_left(p, f, i, b.data);
    buf_release(&b);
}

static void write_summary(struct painter *p, const struct findings *f)
{
    if (f->count && f->ndeadlocks)
        fprintf(p->out, "%zu race%s and %zu deadlock%s in '%s': ", f->count, plural(f->count),
                f->ndeadlocks, plural(f->ndeadlocks), f->trace.path);
    else if (f->count)
        fprintf(p->out, "%zu race%s in '%s': ", f->count, plural(f->count), f->trace.path);
    else if (f->ndeadlocks)
        fprintf(p->out, "%zu deadlock%s in '%s', no race found: ", f->ndeadlocks,
                plural(f->ndeadlocks), f->trace.path);
    else
        fprintf(p->out, "no race found in '%s': ", f->trace.path);
    if (f->trace.recording.processes > 1)
        fprintf(p->out, "%" PRIu64 " processes, ", f->trace.recording.processes);
    fprintf(p->out, "%" PRIu64 " event%s, %" PRIu64 " thread%s, engine%s ", f->trace.events,
            plural(f->trace.events), f->trace.threads, plural(f->trace.threads),
            plural(f->nengines));
    paint_engines(p, f, all_engines(f));
    fputc('\n', p->out);
    recording_text(&f->trace.recording, p->out);
    write_incomplete(p, f);
    write_left_out(p, f);
}

/* A table of findings; engines come last and need no width. */
enum { COLS_MAX = 7, CELL_BYTES = 512 };

struct table {
    const struct findings *f;
    size_t rows;
    int columns;
    const char *const *heads;
    /* The text of a cell; `room` is for what has to be made. */
    const char *(*cell)(const struct painter *p, const struct findings *f, size_t row, int column,
                        char room[CELL_BYTES]);
    uint64_t (*engines)(const struct findings *f, size_t row);
};

static void write_table(struct painter *p, const struct table *t)
{
    size_t width[COLS_MAX];
    char room[CELL_BYTES];

    for (int c = 0; c < t->columns; c++) {
        width[c] = strlen(t->heads[c]);
        for (size_t i = 0; i < t->rows; i++) {
            size_t w = paint_width(t->cell(p, t->f, i, c, room));

            width[c] = w > width[c] ? w : width[c];
        }
    }
    fputc('\n', p->out);
    for (int c = 0; c < t->columns; c++) {
        fputs("  ", p->out);
        paint_padded(p, t->heads[c], width[c]);
    }
    fputs("  engines\n", p->out);
    for (size_t i = 0; i < t->rows; i++) {
        for (int c = 0; c < t->columns; c++) {
            fputs("  ", p->out);
            paint_padded(p, t->cell(p, t->f, i, c, room), width[c]);
        }
        fputs("  ", p->out);
        paint_engines(p, t->f, t->engines(t->f, i));
        fputc('\n', p->out);
    }
}

static const char *number_cell(char room[CELL_BYTES], uint64_t n)
{
    snprintf(room, CELL_BYTES, "%" PRIu64, n);
    return room;
}

enum { RACE_NUMBER, RACE_ID, RACE_STRENGTH, RACE_VARIABLE, RACE_FIRST, RACE_SECOND, RACE_COLS = 7 };
static const char *const race_heads[RACE_COLS] = { "#",     "id",     "strength", "variable",
                                                   "first", "second", "count" };

static const char *race_cell(const struct painter *p, const struct findings *f, size_t i,
                             int column, char room[CELL_BYTES])
{
    const struct finding *r = &f->races[i];

    switch (column) {
    case RACE_NUMBER:
        return number_cell(room, i + 1);
    case RACE_ID:
        return r->id;
    case RACE_STRENGTH:
        return strength_names[r->strength];
    case RACE_VARIABLE:
        return r->variable;
    case RACE_FIRST:
        return paint_place(p, &r->sides[0]);
    case RACE_SECOND:
        return paint_place(p, &r->sides[1]);
    default:
        return number_cell(room, r->count);
    }
}

static uint64_t race_engines(const struct findings *f, size_t i)
{
    return f->races[i].engines;
}

enum { LOCK_NUMBER, LOCK_ID, LOCK_STRENGTH, LOCK_LOCKS, LOCK_REQUESTS, LOCK_COLS = 6 };
static const char *const lock_heads[LOCK_COLS] = { "#",     "id",       "strength",
                                                   "locks", "requests", "count" };

/* What each waiter says, one after the other, as far as there is room. */
static const char *join_cell(const struct painter *p, const struct deadlock_finding *d, int column,
                             char room[CELL_BYTES])
{
    size_t used = 0;

    room[0] = 0;
    for (size_t i = 0; i < d->nwaiters; i++) {
        const char *text =
            column == LOCK_LOCKS ? d->waiters[i].lock : paint_place(p, &d->waiters[i].request);

        if (used + strlen(text) + 8 > CELL_BYTES) {
            strcpy(room + used, " ...");
            break;
        }
        used += (size_t)sprintf(room + used, "%s%s", i ? ", " : "", text);
    }
    return room;
}

static const char *lock_cell(const struct painter *p, const struct findings *f, size_t i,
                             int column, char room[CELL_BYTES])
{
    const struct deadlock_finding *d = &f->deadlocks[i];

    switch (column) {
    case LOCK_NUMBER:
        return number_cell(room, f->count + i + 1);
    case LOCK_ID:
        return d->id;
    case LOCK_STRENGTH:
        return strength_names[d->strength];
    case LOCK_LOCKS:
    case LOCK_REQUESTS:
        return join_cell(p, d, column, room);
    default:
        return number_cell(room, d->count);
    }
}

static uint64_t lock_engines(const struct findings *f, size_t i)
{
    return f->deadlocks[i].engines;
}

static void write_tables(struct painter *p, const struct findings *f)
{
    struct table races = { f, f->count, RACE_COLS, race_heads, race_cell, race_engines };
    struct table deadlocks = { f, f->ndeadlocks, LOCK_COLS, lock_heads, lock_cell, lock_engines };

    if (f->count)
        write_table(p, &races);
    if (f->ndeadlocks)
        write_table(p, &deadlocks);
}

static struct paint_widths schedule_widths(const struct schedule_step *steps, size_t n)
{
    struct paint_widths w = { strlen("thread"), strlen("operation") };

    for (size_t i = 0; i < n; i++) {
        size_t thread = paint_width(steps[i].thread);
        size_t operation = paint_width(steps[i].operation);

        w.thread = thread > w.thread ? thread : w.thread;
        w.operation = operation > w.operation ? operation : w.operation;
    }
    return w;
}

/* `steps` are the n of all `total` that schedule.c chose. */
static void write_schedule(struct painter *p, const char *what, const struct schedule_step *steps,
                           size_t n, size_t total, uint64_t switches)
{
    struct paint_widths w = schedule_widths(steps, n);
    uint64_t expected = 0;

    if (!n && total)
        fprintf(p->out, "  schedule that %s: %zu step%s\n", what, total, plural(total));
    if (!n)
        return;
    fprintf(p->out, "  schedule that %s, %zu step%s", what, total, plural(total));
    if (switches && n < total)
        fprintf(p->out, ", %" PRIu64 " switch%s of threads", switches, switches == 1 ? "" : "es");
    fputs(":\n", p->out);
    paint_step_head(p, &w);
    for (size_t i = 0; i < n; i++) {
        if (steps[i].index > expected)
            paint_gap(p, steps[i].index - expected);
        paint_step(p, &steps[i], i > 0 && strcmp(steps[i].thread, steps[i - 1].thread) != 0, &w);
        expected = steps[i].index + 1;
    }
}

static void write_tests(struct painter *p, const struct findings *f,
                        const struct findings_tests *tests)
{
    if (!tests->count && f->test)
        fprintf(p->out, "  shown by: %s\n", f->test);
    for (size_t i = 0; i < tests->count; i++)
        fprintf(p->out, "%s%s", i ? ", " : "  shown by: ", tests->names[i]);
    if (tests->count)
        fputc('\n', p->out);
}

/* "if the branch of T2 at a.c:44 (event 25) goes the other way (outcome 0), a.c:46 executes" */
static void write_flips(struct painter *p, const struct finding *r)
{
    for (size_t i = 0; i < r->nflips; i++) {
        const struct finding_flip *flip = &r->flips[i];

        fprintf(p->out, "  %s is in code that was not executed: if ",
                flip->side ? "second" : "first");
        if (flip->by_value)
            fprintf(p->out, "%s, after event %" PRIu64 ", finds 0x%" PRIx64 " in the pointer at %s",
                    flip->thread, flip->event, flip->outcome, flip->location);
        else
            fprintf(p->out,
                    "the branch of %s at %s (event %" PRIu64
                    ") goes the other way (outcome %" PRIu64 ")",
                    flip->thread, flip->location, flip->event, flip->outcome);
        fprintf(p->out, ", %s executes\n", r->sides[flip->side].location);
    }
}

static const struct held_lock *lock_of_both(const struct side *a, const struct side *b)
{
    const struct held_lock *other = NULL;
    size_t i = 0;

    while (i < a->nlocks && !(other = side_lock(b, a->locks[i].name)))
        i++;
    return other && a->locks[i].shared ? &a->locks[i] : other;
}

/* The innermost lock of a side that could be taken at the other one, or NULL. */
static const struct held_lock *lock_for_both(const struct side *s)
{
    for (size_t i = s->nlocks; i > 0; i--)
        if (!s->locks[i - 1].only_here)
            return &s->locks[i - 1];
    return NULL;
}

/* What would have ordered the two accesses. (Nothing is said of one lock that both hold: the
 * recording is odd then.) */
static void write_remedy(struct painter *p, const struct finding *r)
{
    const struct side *a = &r->sides[0], *b = &r->sides[1];
    const struct held_lock *both = lock_of_both(a, b);
    const struct held_lock *of_a = lock_for_both(a), *of_b = lock_for_both(b);

    if (a->locks_unknown || b->locks_unknown || (both && !both->shared))
        return;
    fputs("  would be ordered by: ", p->out);
    if (both)
        fprintf(p->out, "%s, if one of them took it exclusively", both->name);
    else if (of_a && of_b)
        fprintf(p->out, "one lock for both: %s or %s", of_a->name, of_b->name);
    else if (of_a || of_b)
        fprintf(p->out, "%s, which the %s holds, around the %s, too", (of_a ? of_a : of_b)->name,
                of_a ? "first" : "second", of_a ? "second" : "first");
    else
        fputs("a lock around both", p->out);
    if (a->creator && strcmp(a->creator, b->thread) == 0)
        fprintf(p->out, "; or joining %s before the second", a->thread);
    fputc('\n', p->out);
}

/* A schedule that is not there, but for its length. */
static void write_gone(struct painter *p, const char *what, uint64_t steps)
{
    if (steps)
        fprintf(p->out,
                "  schedule that %s: %" PRIu64 " steps, checked, not kept "
                "(--max-witness, --no-witness, or too many of them)\n",
                what, steps);
}

/* A schedule that is not there in full. */
static void write_long(struct painter *p, const struct finding *r)
{
    write_gone(p, "makes them meet", r->long_witness);
    if (r->after && r->nwitness)
        fprintf(p->out, "  the first %" PRIu64 " event%s as recorded, then:\n", r->after,
                plural(r->after));
}

/* What came of making it happen. */
static void write_confirmation(struct painter *p, const struct finding *r)
{
    if (!r->confirmation)
        return;
    if (!r->confirmation_reason)
        fprintf(p->out, "  made to happen in try %" PRIu64 "\n", r->tries);
    else if (!r->tries)
        fprintf(p->out, "  not made to happen: %s: %s\n", r->confirmation, r->confirmation_reason);
    else
        fprintf(p->out, "  not made to happen: %s in %" PRIu64 " tr%s: %s\n", r->confirmation,
                r->tries, r->tries == 1 ? "y" : "ies", r->confirmation_reason);
}

/* What it depends on, or why no more is known of it. */
static void write_standing(struct painter *p, const struct findings *f, const struct finding *r)
{
    struct buf b = { 0 };

    if (r->doubt)
        fprintf(p->out, "  not observed: %s\n", r->doubt);
    write_confirmation(p, r);
    findings_phrase_cause(f, r, &b);
    if (b.len)
        fprintf(p->out, "  %s\n", b.data);
    buf_release(&b);
    if (r->strength == STRENGTH_OBSERVED && r->independent)
        fputs("  independent: fixing another race would not order the two accesses\n", p->out);
}

static void write_race(struct painter *p, const struct findings *f, size_t i)
{
    const struct finding *r = &f->races[i];

    fprintf(p->out, "\nrace %zu ", i + 1);
    paint_bold(p, r->id);
    fputs(", ", p->out);
    paint_bold(p, strength_names[r->strength]);
    fprintf(p->out, ": %s %s, seen %" PRIu64 " time%s, ",
            r->descriptor ? FD_RACE " on" : "variable", r->variable, r->count, plural(r->count));
    paint_finders(p, f, r);
    fprintf(p->out, "\n  %s means: %s\n", strength_names[r->strength], race_meaning(f, r));
    write_standing(p, f, r);
    if (r->trace)
        fprintf(p->out, "  in '%s'\n", r->trace);
    write_tests(p, f, &r->tests);
    paint_side(p, "first", &r->sides[0]);
    p->above = &r->sides[0];
    paint_side(p, "second", &r->sides[1]);
    p->above = NULL;
    write_remedy(p, r);
    write_flips(p, r);
    changes_write(p->out, r);
    paint_allocation(p, r);
    write_long(p, r);
    write_schedule(p, "makes them meet", r->schedule, r->nschedule, r->nwitness, r->switches);
}

static void write_deadlock(struct painter *p, const struct findings *f, size_t i)
{
    const struct deadlock_finding *d = &f->deadlocks[i];

    fprintf(p->out, "\ndeadlock %zu ", f->count + i + 1);
    paint_bold(p, d->id);
    fputs(", ", p->out);
    paint_bold(p, strength_names[d->strength]);
    if (d->nwaiters == 1)
        fputs(": a thread waits for itself", p->out);
    else
        fprintf(p->out, ": %zu threads wait for each other", d->nwaiters);
    fprintf(p->out, ", seen %" PRIu64 " time%s, found by ", d->count, plural(d->count));
    paint_engines(p, f, d->engines);
    fprintf(p->out, "\n  %s means: %s\n", strength_names[d->strength],
            deadlock_meaning(d->strength));
    if (d->trace)
        fprintf(p->out, "  in '%s'\n", d->trace);
    write_tests(p, f, &d->tests);
    for (size_t k = 0; k < d->nwaiters; k++)
        paint_waiter(p, d, k);
    write_gone(p, "leads there", d->long_witness);
    write_schedule(p, "leads there", d->schedule, d->nschedule, d->nwitness, d->switches);
}

static uint64_t deadlocks_with_strength(const struct findings *f, enum strength s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < f->ndeadlocks; i++)
        n += f->deadlocks[i].strength == s;
    return n;
}

/* ": 1 witnessed, 2 maybe" */
static void write_strengths(struct painter *p, const struct findings *f,
                            uint64_t (*with)(const struct findings *f, enum strength s))
{
    const char *separator = ": ";

    for (int s = 0; s < STRENGTH_COUNT; s++) {
        uint64_t n = with(f, (enum strength)s);

        if (!n)
            continue;
        fprintf(p->out, "%s%" PRIu64 " %s", separator, n, strength_names[s]);
        separator = ", ";
    }
}

/* What each rule took away, and rules that nobody needs any more. */
static void write_rules(struct painter *p, const struct findings *f)
{
    for (size_t i = 0; i < f->nrules; i++)
        if (f->rules[i].count)
            fprintf(p->out, "%" PRIu64 " suppressed by %s (%s:%" PRIu64 ")\n", f->rules[i].count,
                    f->rules[i].text, f->rules[i].file, f->rules[i].line);
    for (size_t i = 0; i < f->nrules; i++)
        if (!f->rules[i].count)
            fprintf(p->out, "unused rule: %s (%s:%" PRIu64 ")\n", f->rules[i].text,
                    f->rules[i].file, f->rules[i].line);
    if (f->known)
        fprintf(p->out, "%" PRIu64 " known from %s\n", f->known, f->baseline);
}

/* Accesses that were made and not recorded. */
static uint64_t accesses_lost(const struct findings *f)
{
    for (size_t i = 0; i < f->trace.recording.ncounters; i++)
        if (strcmp(f->trace.recording.counters[i].name, process_number_names[PROCESS_LOST]) == 0)
            return f->trace.recording.counters[i].value;
    return 0;
}

static void write_lost(struct painter *p, const struct findings *f)
{
    uint64_t accesses = accesses_lost(f);

    if (f->trace.loss)
        fprintf(p->out, "; lost: %s", f->trace.loss);
    if (accesses)
        fprintf(p->out, "; %" PRIu64 " access%s lost", accesses, accesses == 1 ? "" : "es");
    if (!f->trace.loss && !accesses)
        fputs("; nothing lost", p->out);
}

/* The last line: what was found, and what was not seen. */
static void write_totals(struct painter *p, const struct findings *f)
{
    fprintf(p->out, "%s%zu race%s", f->count || f->ndeadlocks ? "\n" : "", f->count,
            plural(f->count));
    write_strengths(p, f, findings_with_strength);
    if (f->ndeadlocks) {
        fprintf(p->out, "; %zu deadlock%s", f->ndeadlocks, plural(f->ndeadlocks));
        write_strengths(p, f, deadlocks_with_strength);
    }
    if (f->suppressed)
        fprintf(p->out, "; %" PRIu64 " suppressed", f->suppressed);
    if (f->known)
        fprintf(p->out, "; %" PRIu64 " known", f->known);
    write_lost(p, f);
    if (f->trace.repaired)
        fprintf(p->out, ", %" PRIu64 " impossible event%s repaired\n", f->trace.repaired,
                plural(f->trace.repaired));
    else
        fputs(", nothing repaired\n", p->out);
}

void text_report(const struct findings *f, bool colour, FILE *out)
{
    struct painter p;

    painter_init(&p, out, colour);
    write_summary(&p, f);
    write_tables(&p, f);
    for (size_t i = 0; i < f->count; i++)
        write_race(&p, f, i);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        write_deadlock(&p, f, i);
    if ((f->count || f->ndeadlocks) && (f->nrules || f->known))
        fputc('\n', out);
    write_rules(&p, f);
    write_totals(&p, f);
}
