/* prefix_memory.c - who wrote each byte last */
#include "trace/prefix_memory.h"
#include "base/alloc.h"

#include <stdlib.h>

enum { UNIT = 4, LINE_UNITS = 64, LINE = UNIT * LINE_UNITS };
#define IS_SPLIT 0x80000000u /* the rest is the number of a split */

struct prefix_line {
    uint64_t number;            /* address / LINE */
    uint32_t owner[LINE_UNITS]; /* a writer, 0: nobody, or a split */
};

void prefix_memory_release(struct prefix_memory *m)
{
    free(m->writers);
    free(m->lines);
    free(m->splits);
    map_release(&m->line_of);
    *m = (struct prefix_memory){ 0 };
}

/* ---- owners ---- */

static void prefix_memory_let_go(struct prefix_memory *m, uint32_t writer)
{
    struct prefix_writer *w = &m->writers[writer];

    if (!writer || --w->owns)
        return;
    w->position = m->unused;
    m->unused = writer;
}

static uint32_t new_writer(struct prefix_memory *m, const struct event *e, uint64_t position)
{
    uint32_t w = m->unused;

    if (w) {
        m->unused = (uint32_t)m->writers[w].position;
    } else {
        GROW(m->writers, m->writers_cap, m->nwriters + 2);
        w = (uint32_t)++m->nwriters;
    }
    m->writers[w] = (struct prefix_writer){ *e, position, 0, false };
    return w;
}

static uint32_t new_split(struct prefix_memory *m, uint32_t owner)
{
    uint32_t s;

    if (m->unused_split) {
        s = m->unused_split - 1;
        m->unused_split = m->splits[s][0];
    } else {
        GROW(m->splits, m->splits_cap, m->nsplits + 1);
        s = (uint32_t)m->nsplits++;
    }
    for (unsigned i = 0; i < UNIT; i++)
        m->splits[s][i] = owner;
    if (owner)
        m->writers[owner].owns += UNIT - 1;
    return s;
}

/* The whole unit belongs to one. */
static void set_unit(struct prefix_memory *m, uint32_t *owner, uint32_t writer)
{
    uint32_t old = *owner;

    m->writers[writer].owns += writer != 0;
    *owner = writer;
    if (!(old & IS_SPLIT)) {
        prefix_memory_let_go(m, old);
        return;
    }
    old &= ~IS_SPLIT;
    for (unsigned i = 0; i < UNIT; i++)
        prefix_memory_let_go(m, m->splits[old][i]);
    m->splits[old][0] = m->unused_split;
    m->unused_split = old + 1;
}

static void set_bytes(struct prefix_memory *m, uint32_t *owner, uint32_t writer, unsigned from,
                      unsigned to)
{
    uint32_t s;

    if (!(*owner & IS_SPLIT))
        *owner = new_split(m, *owner) | IS_SPLIT;
    s = *owner & ~IS_SPLIT;
    for (unsigned i = from; i < to; i++) {
        uint32_t old = m->splits[s][i];

        m->writers[writer].owns += writer != 0;
        m->splits[s][i] = writer;
        prefix_memory_let_go(m, old);
    }
}

/* ---- ranges ---- */

static struct prefix_line *line_at(struct prefix_memory *m, uint64_t number, bool make)
{
    uint32_t *at;

    if (!make) {
        at = map_get(&m->line_of, number);
        return at ? &m->lines[*at] : NULL;
    }
    at = map_put(&m->line_of, number, (uint32_t)m->nlines);
    if (*at == m->nlines) {
        GROW(m->lines, m->lines_cap, m->nlines + 1);
        m->lines[m->nlines++] = (struct prefix_line){ .number = number };
    }
    return &m->lines[*at];
}

static uint64_t end_of(uint64_t from, uint64_t bytes)
{
    return bytes > UINT64_MAX - from ? UINT64_MAX : from + bytes;
}

/* The part of [from, to) that is in the line. */
static void set_line(struct prefix_memory *m, struct prefix_line *l, uint32_t writer, uint64_t from,
                     uint64_t to)
{
    uint64_t start = l->number * LINE, at = from > start ? from : start;
    uint64_t end = to < start + LINE ? to : start + LINE;

    while (at < end) {
        uint32_t *owner = &l->owner[(at - start) / UNIT];
        uint64_t unit = at - at % UNIT, stop = end < unit + UNIT ? end : unit + UNIT;

        if (stop - at == UNIT)
            set_unit(m, owner, writer);
        else if (writer || *owner)
            set_bytes(m, owner, writer, (unsigned)(at - unit), (unsigned)(stop - unit));
        at = stop;
    }
}

void prefix_memory_write(struct prefix_memory *m, const struct event *e, uint64_t position,
                         uint64_t from, uint64_t bytes)
{
    uint64_t to = end_of(from, bytes);
    uint32_t w;

    if (!bytes)
        return;
    w = new_writer(m, e, position);
    for (uint64_t n = from / LINE; n <= (to - 1) / LINE; n++)
        set_line(m, line_at(m, n, true), w, from, to);
}

void prefix_memory_forget(struct prefix_memory *m, uint64_t from, uint64_t bytes)
{
    uint64_t to = end_of(from, bytes), first = from / LINE, last = (to - 1) / LINE;

    if (!bytes || !m->nlines)
        return;
    if (last - first > m->nlines) {
        for (size_t i = 0; i < m->nlines; i++)
            if (m->lines[i].number >= first && m->lines[i].number <= last)
                set_line(m, &m->lines[i], 0, from, to);
        return;
    }
    for (uint64_t n = first; n <= last; n++) {
        struct prefix_line *l = line_at(m, n, false);

        if (l)
            set_line(m, l, 0, from, to);
    }
}

static void tell_unit(struct prefix_memory *m, uint32_t owner, unsigned from, unsigned to,
                      void (*found)(void *arg, struct prefix_writer *w), void *arg)
{
    if (!(owner & IS_SPLIT)) {
        if (owner)
            found(arg, &m->writers[owner]);
        return;
    }
    for (unsigned i = from; i < to; i++)
        if (m->splits[owner & ~IS_SPLIT][i])
            found(arg, &m->writers[m->splits[owner & ~IS_SPLIT][i]]);
}

void prefix_memory_owners(struct prefix_memory *m, uint64_t from, uint64_t bytes,
                          void (*found)(void *arg, struct prefix_writer *w), void *arg)
{
    uint64_t to = end_of(from, bytes);

    for (uint64_t at = from; at < to;) {
        struct prefix_line *l = line_at(m, at / LINE, false);
        uint64_t start = at - at % LINE, end = to < start + LINE ? to : start + LINE;

        while (at < end) {
            uint64_t unit = at - at % UNIT, stop = end < unit + UNIT ? end : unit + UNIT;

            if (l)
                tell_unit(m, l->owner[(unit - start) / UNIT], (unsigned)(at - unit),
                          (unsigned)(stop - unit), found, arg);
            at = stop;
        }
    }
}
