/* intern.h - strings to dense numbers and back
 *
 * Equal byte strings get equal numbers, counted from 0 in order of first
 * appearance. Strings may hold any byte except NUL.
 * Cost: one XXH3 and usually one probe a look-up; memory is the text once,
 * plus 24 bytes a string.
 * Ownership: the table owns its copies; returned pointers stay valid until
 * intern_release(), whatever is added later.
 */
#ifndef HEDDLE_BASE_INTERN_H
#define HEDDLE_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define INTERN_NONE UINT32_MAX

struct intern {
    struct arena text;
    const char **strings; /* number -> string */
    size_t strings_cap;
    uint32_t count;
    struct intern_slot *slots; /* open addressing, power of two */
    size_t nslots;
};

void intern_release(struct intern *t); /* a zeroed struct is an empty table */

/* The number of s, or INTERN_NONE where it was never added. */
uint32_t intern_find(const struct intern *t, const char *s, size_t n);

static inline const char *intern_get(const struct intern *t, uint32_t id)
{
    return t->strings[id];
}

/* The number of s, adding it where it is new. */
uint32_t intern_put(struct intern *t, const char *s, size_t n);

/* Add a string under the next number even if an equal one exists (a table read from a file). */
uint32_t intern_append(struct intern *t, const char *s, size_t n);

#endif
