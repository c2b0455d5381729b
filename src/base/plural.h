/* plural.h - the "s" of a number of things: "%u race%s", n, plural(n) */
#ifndef HEDDLE_BASE_PLURAL_H
#define HEDDLE_BASE_PLURAL_H

#include <stdint.h>

static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#endif
