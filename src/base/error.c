/* error.c - formatting of struct error; a text that does not fit is cut, never lost */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
    char old[sizeof(err->text)];
    va_list ap;
    int n;

    memcpy(old, err->text, sizeof(old));
    va_start(ap, fmt);
    n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(err->text))
        snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %.900s", old);
    return -1;
}
