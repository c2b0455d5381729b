/* early.c - which records of a chunk that is being filled are final */
#include "record/early.h"
#include "base/alloc.h"
#include "record/raw.h"

#include <stdlib.h>
#include <string.h>

void early_release(struct early *e)
{
    free(e->tail);
    *e = (struct early){ 0 };
}

size_t early_start(const struct early *e, uint32_t serial)
{
    return e->some && e->serial == serial ? e->taken : 0;
}

static unsigned early_kind_of(const struct chunk_copy *c, size_t at)
{
    return ring_kind(c->data[at]);
}

/* The thread lengthens no record that stands before this one. */
static bool seals(unsigned kind)
{
    return kind == R_SYNC || kind == R_ATOMIC || kind == R_FENCE;
}

static bool moves_frames(unsigned kind)
{
    return kind == R_MOVE || kind == R_ENTER || kind == R_EXIT;
}

/* Behind the last record from `from` on that seals; `from` where none does. */
static size_t sealed_up_to(const struct chunk_copy *c, size_t from, size_t to)
{
    size_t sealed = from, n;

    for (size_t at = from; at < to && (n = raw_words(c, at)) && n <= to - at; at += n)
        if (seals(early_kind_of(c, at)))
            sealed = at + n;
    return sealed;
}

/* All but a last record that may become longer. */
static size_t complete_up_to(const struct chunk_copy *c, size_t from)
{
    size_t n;

    for (size_t at = from; at < c->words; at += n) {
        n = raw_words(c, at);
        if (!n || n > c->words - at || (n == c->words - at && early_kind_of(c, at) & STRETCH_MARK))
            return at;
    }
    return c->words;
}

/* Up to the first record that differs between the copies. Each of them may have been made while a
 * record was rewritten, in two steps: what is equal in both was so at a moment between them. */
static size_t equal_up_to(const struct chunk_copy *c, const struct chunk_copy *again, size_t from)
{
    size_t n;

    for (size_t at = from; at < c->words; at += n) {
        n = raw_words(c, at);
        if (!n || n > c->words - at || again->words < at + n ||
            memcmp(c->data + at, again->data + at, n * sizeof(c->data[0])) != 0)
            return at;
    }
    return c->words;
}

size_t early_limit(const struct early *e, const struct chunk_copy *c,
                   const struct chunk_copy *again, bool full)
{
    size_t from = early_start(e, c->head.serial), to;

    if (from > c->words)
        return from;
    if (full)
        return complete_up_to(c, from);
    to = sealed_up_to(c, from, c->words);
    return again ? equal_up_to(c, again, to) : to;
}

void early_take(struct early *e, const struct chunk_copy *c, size_t to, bool full)
{
    size_t from = early_start(e, c->head.serial), sealed;

    if (!from)
        e->sealed = 0;
    sealed = full ? to : sealed_up_to(c, from, to);
    if (sealed > from || full)
        e->sealed = sealed;
    e->some = true;
    e->serial = c->head.serial;
    e->taken = to;
    if (to == e->sealed)
        return;
    GROW(e->tail, e->tail_cap, to - e->sealed);
    memcpy(e->tail, c->data + e->sealed, (to - e->sealed) * sizeof(*e->tail));
}

/* Does one of the records [from, to) enter or leave functions? */
static bool has_moves(const struct chunk_copy *c, size_t from, size_t to)
{
    for (size_t n; from < to && (n = raw_words(c, from)); from += n)
        if (moves_frames(early_kind_of(c, from)))
            return true;
    return false;
}

bool early_changed(const struct early *e, const struct chunk_copy *c, size_t *at, size_t *record,
                   bool *moved)
{
    size_t n;

    if (!early_start(e, c->head.serial) || e->taken > c->words)
        return false;
    if (*at < e->sealed)
        *at = e->sealed;
    for (; *at < e->taken && (n = raw_words(c, *at)) && n <= e->taken - *at; *at += n) {
        if (!memcmp(c->data + *at, e->tail + (*at - e->sealed), n * sizeof(*e->tail)))
            continue;
        *record = *at;
        *at += n;
        *moved = has_moves(c, *at, e->taken);
        return true;
    }
    return false;
}
