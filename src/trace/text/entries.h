/* entries.h - entries of a call's list as text, for reading and for writing (docs/format/std.md)
 *
 * Most entries are a range or a name. The others are "*", or a word and what it is about in
 * parentheses. Whatever is not written exactly so is a name; names that would be taken for
 * something else are escaped when they are written.
 */
#ifndef HEDDLE_TRACE_TEXT_ENTRIES_H
#define HEDDLE_TRACE_TEXT_ENTRIES_H

#include "trace/text/scan.h"

/* The words, by enum d_kind. */
static const char *const entry_words[] = { [D_START_KIND] = "begin",
                                           [D_SYNC_KIND] = "sync",
                                           [D_ROOT_KIND] = "root",
                                           [D_EXTENT_KIND] = "object",
                                           [D_SLOT_KIND] = "slot" };

/* Canonical "0x1f=0x20": two addresses. */
static inline bool scan_link(const char *p, size_t n, uint64_t *address, uint64_t *pointer)
{
    const char *equals = memchr(p, '=', n);

    return equals && scan_hex(p, (size_t)(equals - p), address) &&
           scan_hex(equals + 1, (size_t)(p + n - equals - 1), pointer) &&
           *address < ADDRESS_LIMIT && *pointer < ADDRESS_LIMIT;
}

/* What an entry says: of root, object and slot both words. Of begin and sync the name is left to
 * the caller: [*name, *name + *len). D_MEMORY_KIND: a range, a variable, or the end of a thread. */
static inline enum d_kind scan_entry(const char *p, size_t n, uint64_t words[2], const char **name,
                                     size_t *len)
{
    const char *open = memchr(p, '(', n);
    size_t word = open ? (size_t)(open - p) : n;

    words[1] = 0;
    if (n == 1 && *p == '*') {
        words[0] = 0;
        return D_ALL_KIND;
    }
    if (!open || p[n - 1] != ')' || n < word + 3)
        return D_MEMORY_KIND;
    *name = open + 1;
    *len = n - word - 2;
    for (int k = D_START_KIND; k <= D_SLOT_KIND; k++) {
        if (!entry_words[k] || strlen(entry_words[k]) != word || memcmp(entry_words[k], p, word))
            continue;
        if ((k == D_ROOT_KIND &&
             (!scan_hex(*name, *len, &words[0]) || words[0] >= ADDRESS_LIMIT)) ||
            (k == D_EXTENT_KIND && !scan_range(*name, *len, &words[0], &words[1])) ||
            (k == D_SLOT_KIND && !scan_link(*name, *len, &words[0], &words[1])))
            break;
        return (enum d_kind)k;
    }
    return D_MEMORY_KIND;
}

#endif
