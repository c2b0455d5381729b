/* diag.c - list of diagnoses, bounded per kind */
#include "trace/check/diag.h"
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[DIAG_KINDS] = {
    [DIAG_OPEN_LOCK] = "open-lock",           [DIAG_THREAD_NAME] = "thread-name",
    [DIAG_RELEASE_UNHELD] = "release-unheld", [DIAG_RELEASE_FOREIGN] = "release-foreign",
    [DIAG_ACQUIRE_HELD] = "acquire-held",     [DIAG_FORK_AGAIN] = "fork-again",
    [DIAG_FORK_LATE] = "fork-late",           [DIAG_FORK_SELF] = "fork-self",
    [DIAG_JOIN_UNKNOWN] = "join-unknown",     [DIAG_JOIN_SELF] = "join-self",
    [DIAG_AFTER_END] = "after-end",           [DIAG_AFTER_JOIN] = "after-join",
    [DIAG_BEGIN_LATE] = "begin-late",         [DIAG_RETURN_UNMATCHED] = "return-unmatched",
    [DIAG_VALUE_MISMATCH] = "value-mismatch",
};

void diags_release(struct diags *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->list[i].text);
    free(d->list);
    *d = (struct diags){ 0 };
}

enum diag_level diag_level(enum diag_kind kind)
{
    return kind == DIAG_OPEN_LOCK || kind == DIAG_THREAD_NAME ? DIAG_NOTE : DIAG_REPAIRED;
}

const char *diag_kind_name(enum diag_kind kind)
{
    return kind_names[kind];
}

uint64_t diags_repaired(const struct diags *d)
{
    uint64_t sum = 0;

    for (int kind = 0; kind < DIAG_KINDS; kind++)
        if (diag_level((enum diag_kind)kind) == DIAG_REPAIRED)
            sum += d->total[kind];
    return sum;
}

/* Of calls, values and where a thread begins no order comes. */
bool diag_is_unsure(enum diag_kind kind)
{
    return diag_level(kind) == DIAG_REPAIRED && kind != DIAG_RETURN_UNMATCHED &&
           kind != DIAG_VALUE_MISMATCH && kind != DIAG_BEGIN_LATE;
}

uint64_t diags_unsure(const struct diags *d)
{
    uint64_t sum = 0;

    for (int kind = 0; kind < DIAG_KINDS; kind++)
        if (diag_is_unsure((enum diag_kind)kind))
            sum += d->total[kind];
    return sum;
}

void diag_add(struct diags *d, enum diag_kind kind, uint64_t position, const char *fmt, ...)
{
    struct diag *new;
    va_list ap;

    if (d->total[kind]++ >= DIAG_KEEP)
        return;
    GROW(d->list, d->cap, d->count + 1);
    new = &d->list[d->count++];
    new->kind = kind;
    new->position = position;
    va_start(ap, fmt);
    if (vasprintf(&new->text, fmt, ap) < 0)
        new->text = xstrndup("", 0);
    va_end(ap);
}
