/* ci.c - findings for continuous integration: JUnit XML and GitHub annotations */
#include "report/ci.h"
#include "report/phrase.h"
#include "report/xml.h"

#include <inttypes.h>
#include <string.h>

/* ---- JUnit ---- */

static void put_stack(FILE *out, const struct side *s)
{
    struct buf b = { 0 };

    phrase_side(&b, s);
    xml_put(out, b.data);
    fputc('\n', out);
    for (size_t i = 0; i < s->stack.count; i++) {
        const struct frame *frame = &s->stack.frames[i];

        fprintf(out, "  #%zu ", i);
        xml_put(out, frame->function ? frame->function : "?");
        if (frame->location) {
            fputs(" ", out);
            xml_put(out, frame->location);
        }
        fputc('\n', out);
    }
    buf_release(&b);
}

static void put_steps(FILE *out, const struct schedule_step *steps, size_t n)
{
    if (n)
        fputs("A schedule that makes it happen:\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "  %" PRIu64 " ", steps[i].index);
        xml_put(out, steps[i].thread);
        fputs(": ", out);
        xml_put(out, steps[i].operation);
        fputs(" at ", out);
        xml_put(out, steps[i].location);
        fputc('\n', out);
    }
}

/* What does not count for the exit code fails no test (--fail-on). */
static bool is_failure(const struct findings *f, enum strength s)
{
    return !f->spared || s < f->spared;
}

static void open_case(FILE *out, const char *of, const char *id, enum strength strength,
                      const char *text, bool failure)
{
    fputs("    <testcase classname=\"", out);
    xml_put(out, of);
    fputs("\" name=\"", out);
    xml_put(out, id);
    fputs("\">\n      ", out);
    if (failure) {
        fprintf(out, "<failure type=\"%s\" message=\"", strength_names[strength]);
        xml_put(out, text);
        fputs("\">", out);
        return;
    }
    fprintf(out, "<system-out>%s: ", strength_names[strength]);
    xml_put(out, text);
    fputc('\n', out);
}

static void close_case(FILE *out, bool failure)
{
    fprintf(out, "</%s>\n    </testcase>\n", failure ? "failure" : "system-out");
}

static void junit_race(FILE *out, const char *of, const struct finding *r, bool failure)
{
    struct buf b = { 0 };

    phrase_race(&b, r);
    open_case(out, of, r->id, r->strength, b.data, failure);
    for (int k = 0; k < 2; k++)
        put_stack(out, &r->sides[k]);
    put_steps(out, r->schedule, r->nschedule);
    close_case(out, failure);
    buf_release(&b);
}

static void junit_deadlock(FILE *out, const char *of, const struct deadlock_finding *d,
                           bool failure)
{
    struct buf b = { 0 };

    phrase_deadlock(&b, d);
    open_case(out, of, d->id, d->strength, b.data, failure);
    for (size_t i = 0; i < d->nwaiters; i++)
        put_stack(out, &d->waiters[i].request);
    put_steps(out, d->schedule, d->nschedule);
    close_case(out, failure);
    buf_release(&b);
}

static size_t cases(const struct findings_tests *tests)
{
    return tests->count ? tests->count : 1;
}

/* A finding is a case of each test that showed it, else of the one test, else of the trace. */
static const char *case_of(const struct findings *f, const struct findings_tests *tests, size_t i)
{
    if (i < tests->count)
        return tests->names[i];
    if (i >= cases(tests))
        return NULL;
    return f->test ? f->test : f->trace.path;
}

/* All of them, or those that fail. */
static size_t count_cases(const struct findings *f, bool failures)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        if (!failures || is_failure(f, f->races[i].strength))
            n += cases(&f->races[i].tests);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        if (!failures || is_failure(f, f->deadlocks[i].strength))
            n += cases(&f->deadlocks[i].tests);
    return n;
}

static void junit_cases(const struct findings *f, FILE *out)
{
    const char *of;

    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; (of = case_of(f, &f->races[i].tests, k)); k++)
            junit_race(out, of, &f->races[i], is_failure(f, f->races[i].strength));
    for (size_t i = 0; i < f->ndeadlocks; i++)
        for (size_t k = 0; (of = case_of(f, &f->deadlocks[i].tests, k)); k++)
            junit_deadlock(out, of, &f->deadlocks[i], is_failure(f, f->deadlocks[i].strength));
}

void junit_write(const struct findings *f, FILE *out)
{
    size_t n = count_cases(f, false), failed = count_cases(f, true);

    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out,
            "<testsuites tests=\"%zu\" failures=\"%zu\">\n"
            "  <testsuite name=\"heddle\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
            "skipped=\"0\">\n",
            n ? n : 1, failed, n ? n : 1, failed);
    junit_cases(f, out);
    if (!n) {
        fputs("    <testcase classname=\"", out);
        xml_put(out, f->test ? f->test : f->trace.path);
        fputs("\" name=\"no race found\"/>\n", out);
    }
    fputs("  </testsuite>\n</testsuites>\n", out);
}

/* ---- GitHub ---- */

/* What workflow commands take for their own: the message, and more in a property. */
static void put_command(FILE *out, const char *s, size_t len, bool property)
{
    for (size_t i = 0; i < len; i++) {
        char c = s[i];

        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            fprintf(out, "%%%02X", (unsigned char)c);
        else
            fputc(c, out);
    }
}

static void annotate(FILE *out, enum strength strength, const char *location, const char *title,
                     const struct buf *text)
{
    struct file_place p = file_place_of(location);

    fprintf(out, "::%s ",
            strength == STRENGTH_POTENTIAL ? "notice"
            : strength == STRENGTH_MAYBE   ? "warning"
                                           : "error");
    if (p.file) {
        fputs("file=", out);
        put_command(out, p.file, p.file_len, true);
        fprintf(out, ",line=%u,", p.line);
        if (p.column)
            fprintf(out, "col=%u,", p.column);
    }
    fputs("title=", out);
    put_command(out, title, strlen(title), true);
    fprintf(out, " (%s)::", strength_names[strength]);
    put_command(out, text->data, text->len, false);
    fputc('\n', out);
}

static void github_race(FILE *out, const struct finding *r)
{
    bool has_file = file_place_of(side_place(&r->sides[0])).file;
    struct buf b = { 0 };

    phrase_race(&b, r);
    buf_addf(&b, " (%s)", r->id);
    for (int k = 0; k < (has_file ? 2 : 1); k++)
        annotate(out, r->strength, side_place(&r->sides[k]), "Data race", &b);
    buf_release(&b);
}

static void github_deadlock(FILE *out, const struct deadlock_finding *d)
{
    bool has_file = file_place_of(side_place(&d->waiters[0].request)).file;
    struct buf b = { 0 };

    phrase_deadlock(&b, d);
    buf_addf(&b, " (%s)", d->id);
    for (size_t i = 0; i < (has_file ? d->nwaiters : 1); i++)
        annotate(out, d->strength, side_place(&d->waiters[i].request), "Deadlock", &b);
    buf_release(&b);
}

void github_write(const struct findings *f, FILE *out)
{
    for (size_t i = 0; i < f->count; i++)
        github_race(out, &f->races[i]);
    for (size_t i = 0; i < f->ndeadlocks; i++)
        github_deadlock(out, &f->deadlocks[i]);
}
