/* common.c - messages, warnings about a trace */
#include "cmd/common.h"
#include "report/clean.h"
#include "trace/check/diag.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Warnings of one kind that are printed before the rest is only counted. */
enum { WARN_EACH = 3 };

static void message(const char *level, const char *fmt, va_list ap)
{
    struct buf safe = { 0 };
    char text[4096];

    fflush(stdout);
    vsnprintf(text, sizeof(text), fmt, ap);
    clean_add(&safe, text, strlen(text)); /* names of files and what is in them */
    fprintf(stderr, "heddle: %s%s%s\n", level, level[0] ? ": " : "", safe.data ? safe.data : "");
    buf_release(&safe);
}

int bad_input(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message("", fmt, ap);
    va_end(ap);
    return EXIT_BAD_INPUT;
}

int own_failure(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message("", fmt, ap);
    va_end(ap);
    return EXIT_OWN_FAILURE;
}

int usage_error(const struct command *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message("", fmt, ap);
    va_end(ap);
    fprintf(stderr, "heddle: 'heddle help%s%s' shows the usage\n", c ? " " : "", c ? c->name : "");
    return EXIT_USAGE;
}

int unknown_command(const char *name)
{
    struct suggestion s = { .wanted = name };

    for (const struct command *c = commands; c->name; c++)
        suggest(&s, c->name);
    if (s.best)
        return usage_error(NULL, "unknown command '%s', did you mean '%s'?", name, s.best);
    return usage_error(NULL, "unknown command '%s'", name);
}

void warn(const char *level, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message(level, fmt, ap);
    va_end(ap);
}

static const char *level_of(const char *kind)
{
    for (int k = 0; k < DIAG_KINDS; k++)
        if (strcmp(diag_kind_name((enum diag_kind)k), kind) == 0)
            return diag_level((enum diag_kind)k) == DIAG_NOTE ? "note" : "warning";
    return "warning";
}

static void warn_kind(const struct findings_trace *t, const struct findings_counter *total)
{
    uint64_t shown = 0;

    for (size_t i = 0; i < t->ndiagnoses && shown < WARN_EACH; i++) {
        if (strcmp(t->diagnoses[i].kind, total->name) != 0)
            continue;
        warn(level_of(total->name), "event %" PRIu64 ": %s", t->diagnoses[i].event,
             t->diagnoses[i].text);
        shown++;
    }
    if (total->value > shown)
        warn(level_of(total->name), "%" PRIu64 " more of the kind '%s'", total->value - shown,
             total->name);
}

void warn_about_trace(const struct findings_trace *t)
{
    if (t->loss)
        warn("warning", "lost a part of '%s': %s", t->path, t->loss);
    for (size_t i = 0; i < t->ndiagnosis_totals; i++)
        warn_kind(t, &t->diagnosis_totals[i]);
}
