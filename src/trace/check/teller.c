/* teller.c - wording of diagnoses */
#include "trace/check/teller.h"
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void teller_release(struct teller *t)
{
    buf_release(&t->name);
}

bool teller_wants(const struct teller *t, enum diag_kind kind)
{
    return t->position >= t->told && t->diags->total[kind] < DIAG_KEEP;
}

static const char *name_of(const struct intern *names, uint64_t number)
{
    return number < names->count ? intern_get(names, (uint32_t)number) : "?";
}

const char *teller_thread(const struct teller *t, uint32_t thread)
{
    return name_of(&t->tables->threads, thread);
}

const char *teller_function(const struct teller *t, uint64_t function)
{
    return name_of(&t->tables->functions, function);
}

const char *teller_object(struct teller *t, uint64_t target)
{
    t->name.len = 0;
    tables_name_object(t->tables, target, &t->name);
    return t->name.data;
}

static void tell_va(struct teller *t, enum diag_kind kind, uint64_t position, const char *fmt,
                    va_list ap)
{
    char *text = NULL;

    if (t->position < t->told)
        return;
    if (teller_wants(t, kind) && vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    diag_add(t->diags, kind, position, "%s", text ? text : "");
    free(text);
}

void tell(struct teller *t, enum diag_kind kind, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tell_va(t, kind, t->position, fmt, ap);
    va_end(ap);
}

void tell_at(struct teller *t, enum diag_kind kind, uint64_t position, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tell_va(t, kind, position, fmt, ap);
    va_end(ap);
}
