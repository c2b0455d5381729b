/* turns.c - chunks in the order of their serial numbers
 *
 * Few wait at a time: lists are searched.
 */
#include "record/turns.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_MAX = 64, HANDLERS_MAX = 1024 };

void turns_release(struct turns *t)
{
    free(t->waiting);
    *t = (struct turns){ 0 };
}

/* Of two that are out of turn: the chunk before a handler's, which belongs into some other. */
static bool comes_first(const struct turn *a, const struct turn *b)
{
    return !a->insert_at != !b->insert_at ? !a->insert_at : a->serial < b->serial;
}

/* The next serial number's place in the list, or -1; or that of the smallest number, once it is
 * clear that the next never comes. */
static long find_next(const struct turns *t)
{
    bool force = t->final || t->count - t->handlers > HELD_MAX || t->handlers > HANDLERS_MAX;
    long best = -1;

    for (size_t i = 0; i < t->count; i++) {
        const struct turn *c = &t->waiting[i];

        if (c->serial == t->next_serial && !c->insert_at)
            return (long)i;
        if (force && (best < 0 || comes_first(c, &t->waiting[best])))
            best = (long)i;
    }
    return best;
}

bool turns_ready(const struct turns *t)
{
    return t->count && find_next(t) >= 0;
}

uint32_t turns_first_insert(const struct turns *t, uint32_t serial)
{
    uint32_t first = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct turn *c = &t->waiting[i];

        if (c->insert_at && c->insert_serial == serial && (!first || c->insert_at < first))
            first = c->insert_at;
    }
    return first;
}

/* Numbers that handlers' chunks have are not waited for. */
static void skip_handlers(struct turns *t)
{
    for (size_t i = 0; i < t->count;) {
        if (t->waiting[i].insert_at && t->waiting[i].serial == t->next_serial) {
            t->next_serial++;
            i = 0; /* perhaps one that stands before has this number */
        } else {
            i++;
        }
    }
}

void turns_add(struct turns *t, struct turn turn)
{
    GROW(t->waiting, t->cap, t->count + 1);
    t->waiting[t->count++] = turn;
    t->handlers += turn.insert_at != 0;
    skip_handlers(t);
}

static struct turn take_at(struct turns *t, size_t i)
{
    struct turn c = t->waiting[i];

    memmove(&t->waiting[i], &t->waiting[i + 1], (t->count - i - 1) * sizeof(c));
    t->count--;
    t->handlers -= c.insert_at != 0;
    return c;
}

bool turns_take(struct turns *t, struct turn *out)
{
    long i = find_next(t);

    if (i < 0)
        return false;
    *out = take_at(t, (size_t)i);
    if (out->serial >= t->next_serial)
        t->next_serial = out->serial + 1;
    skip_handlers(t);
    return true;
}

static bool comes_before(const struct turn *a, const struct turn *b)
{
    return a->insert_at != b->insert_at ? a->insert_at < b->insert_at : a->serial < b->serial;
}

bool turns_take_insert(struct turns *t, uint32_t serial, struct turn *out)
{
    long best = -1;

    for (size_t i = 0; i < t->count; i++) {
        const struct turn *c = &t->waiting[i];

        if (c->insert_at && c->insert_serial == serial &&
            (best < 0 || comes_before(c, &t->waiting[best])))
            best = (long)i;
    }
    if (best < 0)
        return false;
    *out = take_at(t, (size_t)best);
    return true;
}
