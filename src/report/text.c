/* text.c - the report for people: a table of all races, then each in detail */
#include "report/text.h"
#include "report/paint.h"
#include "report/recorded.h"

#include <inttypes.h>
#include <string.h>

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static uint64_t all_engines(const struct findings *f)
{
    return f->nengines == 64 ? UINT64_MAX : ((uint64_t)1 << f->nengines) - 1;
}

static void write_summary(struct painter *p, const struct findings *f)
{
    if (f->count)
        fprintf(p->out, "%zu race%s in '%s': ", f->count, plural(f->count), f->trace.path);
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
    for (size_t i = 0; i < f->nengines; i++)
        if (!f->engines[i].complete)
            fprintf(p->out, "incomplete: %s stopped early, there may be more\n",
                    f->engines[i].name);
}

/* The table's columns; engines come last and need no width. */
enum { COL_NUMBER, COL_ID, COL_STRENGTH, COL_VARIABLE, COL_FIRST, COL_SECOND, COL_COUNT, COLS };

static const char *const heads[COLS] = { "#",     "id",     "strength", "variable",
                                         "first", "second", "count" };

static const char *cell(const struct painter *p, const struct findings *f, size_t i, int column,
                        char number[24])
{
    const struct finding *r = &f->races[i];

    switch (column) {
    case COL_NUMBER:
        snprintf(number, 24, "%zu", i + 1);
        return number;
    case COL_ID:
        return r->id;
    case COL_STRENGTH:
        return strength_names[r->strength];
    case COL_VARIABLE:
        return r->variable;
    case COL_FIRST:
        return paint_place(p, &r->sides[0]);
    case COL_SECOND:
        return paint_place(p, &r->sides[1]);
    default:
        snprintf(number, 24, "%" PRIu64, r->count);
        return number;
    }
}

static void write_table(struct painter *p, const struct findings *f)
{
    size_t width[COLS];
    char number[24];

    for (int c = 0; c < COLS; c++) {
        width[c] = strlen(heads[c]);
        for (size_t i = 0; i < f->count; i++) {
            size_t w = paint_width(cell(p, f, i, c, number));

            width[c] = w > width[c] ? w : width[c];
        }
    }
    fputc('\n', p->out);
    for (int c = 0; c < COLS; c++) {
        fputs("  ", p->out);
        paint_padded(p, heads[c], width[c]);
    }
    fputs("  engines\n", p->out);
    for (size_t i = 0; i < f->count; i++) {
        for (int c = 0; c < COLS; c++) {
            fputs("  ", p->out);
            paint_padded(p, cell(p, f, i, c, number), width[c]);
        }
        fputs("  ", p->out);
        paint_engines(p, f, f->races[i].engines);
        fputc('\n', p->out);
    }
}

static struct paint_widths schedule_widths(const struct finding *r)
{
    struct paint_widths w = { strlen("thread"), strlen("operation") };

    for (size_t i = 0; i < r->nschedule; i++) {
        size_t thread = paint_width(r->schedule[i].thread);
        size_t operation = paint_width(r->schedule[i].operation);

        w.thread = thread > w.thread ? thread : w.thread;
        w.operation = operation > w.operation ? operation : w.operation;
    }
    return w;
}

static void write_schedule(struct painter *p, const struct finding *r)
{
    struct paint_widths w = schedule_widths(r);
    uint64_t expected = 0;

    fprintf(p->out, "  schedule that makes them meet, %zu step%s:\n", r->nwitness,
            plural(r->nwitness));
    paint_step_head(p, &w);
    for (size_t i = 0; i < r->nschedule; i++) {
        const struct schedule_step *s = &r->schedule[i];

        if (s->index > expected)
            paint_gap(p, s->index - expected);
        paint_step(p, s, i > 0 && strcmp(s->thread, r->schedule[i - 1].thread) != 0, &w);
        expected = s->index + 1;
    }
}

static void write_race(struct painter *p, const struct findings *f, size_t i)
{
    const struct finding *r = &f->races[i];

    fprintf(p->out, "\nrace %zu ", i + 1);
    paint_bold(p, r->id);
    fputs(", ", p->out);
    paint_bold(p, strength_names[r->strength]);
    fprintf(p->out, ": variable %s, seen %" PRIu64 " time%s, ", r->variable, r->count,
            plural(r->count));
    paint_finders(p, f, r);
    fprintf(p->out, "\n  %s means: %s\n", strength_names[r->strength],
            strength_meaning(r->strength));
    if (r->trace)
        fprintf(p->out, "  in '%s'\n", r->trace);
    paint_side(p, "first", &r->sides[0]);
    paint_side(p, "second", &r->sides[1]);
    paint_allocation(p, r);
    if (r->nschedule)
        write_schedule(p, r);
    else if (r->nwitness)
        fprintf(p->out, "  schedule that makes them meet: %zu steps\n", r->nwitness);
}

/* The last line: what was found, and what was not seen. */
static void write_totals(struct painter *p, const struct findings *f)
{
    const char *separator = ": ";

    fprintf(p->out, "%s%zu race%s", f->count ? "\n" : "", f->count, plural(f->count));
    for (int s = 0; s < STRENGTH_COUNT; s++) {
        uint64_t n = findings_with_strength(f, (enum strength)s);

        if (!n)
            continue;
        fprintf(p->out, "%s%" PRIu64 " %s", separator, n, strength_names[s]);
        separator = ", ";
    }
    if (f->suppressed)
        fprintf(p->out, "; %" PRIu64 " suppressed", f->suppressed);
    if (f->trace.loss)
        fprintf(p->out, "; lost: %s", f->trace.loss);
    else
        fputs("; nothing lost", p->out);
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
    if (f->count)
        write_table(&p, f);
    for (size_t i = 0; i < f->count; i++)
        write_race(&p, f, i);
    write_totals(&p, f);
}
