/* sharing.c - which words of memory only one thread touches, in the whole trace
 *
 * By words of 8 bytes and for the whole trace: memory that one thread frees and another
 * gets is shared. That is coarse, and safe. 16 to 32 bytes a word touched.
 */
#include "execution/program.h"
#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>

enum { SHARED = UINT32_MAX, WORDS_MAX = 1 << 17 /* of one access: larger ones count as shared */ };

struct sharing {
    struct map words; /* address / 8 -> thread, or SHARED */
    bool give_up;     /* too large accesses: all is shared from some address on */
};

struct sharing *sharing_new(void)
{
    return xcalloc(1, sizeof(struct sharing));
}

void sharing_free(struct sharing *s)
{
    if (!s)
        return;
    map_release(&s->words);
    free(s);
}

void sharing_event(struct sharing *s, const struct event *ev)
{
    uint64_t first = ev->target / 8, last;

    if (!op_is_access(ev->op) || !ev->size)
        return;
    last = (ev->target + ev->size - 1) / 8;
    for (uint64_t i = first; i <= last && i - first < WORDS_MAX; i++) {
        uint32_t *thread = map_put(&s->words, i, ev->thread);

        if (*thread != ev->thread)
            *thread = SHARED;
    }
    s->give_up |= last - first >= WORDS_MAX;
}

bool sharing_is_own(const struct sharing *s, uint64_t address, uint32_t bytes, uint32_t thread)
{
    uint64_t first = address / 8, last = bytes ? (address + bytes - 1) / 8 : first;

    if (s->give_up || last - first >= WORDS_MAX)
        return false;
    for (uint64_t i = first; i <= last; i++) {
        const uint32_t *owner = map_get(&s->words, i);

        if (!owner || *owner != thread)
            return false;
    }
    return true;
}

bool sharing_is_others(const struct sharing *s, uint64_t address, uint32_t bytes, uint32_t thread)
{
    uint64_t first = address / 8, last = bytes ? (address + bytes - 1) / 8 : first;

    for (uint64_t i = first; i <= last && !s->give_up; i++) {
        const uint32_t *owner = map_get(&s->words, i);

        if (owner && *owner != SHARED && *owner != thread)
            return true;
    }
    return false;
}

bool sharing_is_private(void *sharing, uint64_t address, uint32_t bytes)
{
    const struct sharing *s = sharing;
    uint64_t first = address / 8, last = bytes ? (address + bytes - 1) / 8 : first;

    if (s->give_up || last - first >= WORDS_MAX)
        return false;
    for (uint64_t i = first; i <= last; i++) {
        const uint32_t *thread = map_get(&s->words, i);

        if (!thread || *thread == SHARED)
            return false;
    }
    return true;
}
