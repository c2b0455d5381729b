/* exec_memory.c - bytes to nodes; see exec_memory.h */
#include "execution/exec_memory.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CELLS = 1 << 10,
    FORGET_MAX = 1 << 16, /* bytes; above another memory: rather all */
    COPY_MAX = 1 << 20    /* larger copies are forgotten */
};

void memory_release(struct memory *m)
{
    free(m->cells);
    *m = (struct memory){ 0 };
}

void private_stack_release(struct private_stack *s)
{
    free(s->node);
    free(s->part);
    *s = (struct private_stack){ 0 };
}

uint64_t private_push(struct private_stack *s, uint64_t bytes)
{
    uint64_t at = (s->top + 15) & ~UINT64_C(15);

    GROW(s->node, s->node_cap, at + bytes);
    GROW(s->part, s->part_cap, at + bytes);
    memset(s->node + at, 0, bytes * sizeof(*s->node));
    s->top = at + bytes;
    return PRIVATE_BASE + at;
}

/* ---- cells ---- */

static inline size_t hash_word(uint64_t word)
{
    word *= UINT64_C(0x9e3779b97f4a7c15);
    return word ^ word >> 32;
}

static bool is_current(const struct memory *m, const struct memory_cell *c)
{
    return c->epoch == m->epoch || (c->word - 1) * 8 >= MEMORY_LIMIT;
}

static struct memory_cell *find_any(const struct memory *m, uint64_t at)
{
    uint64_t word = at / 8 + 1;
    size_t mask = m->ncells - 1, i;

    if (!m->ncells)
        return NULL;
    for (i = hash_word(word) & mask; m->cells[i].word; i = (i + 1) & mask)
        if (m->cells[i].word == word)
            return &m->cells[i];
    return NULL;
}

/* Not what an earlier epoch left there. */
static struct memory_cell *find(const struct memory *m, uint64_t at)
{
    struct memory_cell *c = find_any(m, at);

    return c && is_current(m, c) ? c : NULL;
}

/* Here, or below. */
static const struct memory_cell *see(const struct memory *m, uint64_t at)
{
    const struct memory_cell *c = find_any(m, at);

    for (; !c && m->below && (!m->hides || at >= MEMORY_LIMIT); m = m->below)
        c = find_any(m->below, at);
    return c && is_current(m, c) ? c : NULL;
}

static void insert(struct memory *m, const struct memory_cell *c)
{
    size_t mask = m->ncells - 1, i = hash_word(c->word) & mask;

    while (m->cells[i].word)
        i = (i + 1) & mask;
    m->cells[i] = *c;
}

static struct memory_cell *make(struct memory *m, uint64_t at)
{
    struct memory_cell *c = find_any(m, at), fresh = { .word = at / 8 + 1, .epoch = m->epoch };

    if (c && !is_current(m, c))
        *c = fresh;
    if (c)
        return c;
    if (m->below) { /* a copy of what is below, to be changed */
        const struct memory_cell *seen = see(m, at);

        if (seen)
            fresh = *seen;
        fresh.epoch = m->epoch;
    }
    if (2 * (m->count + 1) > m->ncells) {
        struct memory old = *m;

        m->ncells = old.ncells ? 2 * old.ncells : FIRST_CELLS;
        m->count = 0;
        m->cells = xcalloc(m->ncells, sizeof(*m->cells));
        for (size_t i = 0; i < old.ncells; i++)
            if (old.cells[i].word && is_current(m, &old.cells[i])) {
                insert(m, &old.cells[i]);
                m->count++;
            }
        free(old.cells);
    }
    m->count++;
    insert(m, &fresh);
    return find_any(m, at);
}

/* ---- bytes ---- */

static bool in_stack(const struct private_stack *s, uint64_t at)
{
    return s && at - PRIVATE_BASE < s->top;
}

static expr byte_at(const struct memory *m, const struct private_stack *s, uint64_t at,
                    unsigned *part)
{
    const struct memory_cell *c;

    if (IS_PRIVATE(at)) {
        if (!in_stack(s, at))
            return 0;
        *part = s->part[at - PRIVATE_BASE];
        return s->node[at - PRIVATE_BASE];
    }
    c = see(m, at);
    *part = c ? c->part[at % 8] : 0;
    return c ? c->node[at % 8] : 0;
}

static void set_byte(struct memory *m, struct private_stack *s, uint64_t at, expr node,
                     unsigned part)
{
    struct memory_cell *c;

    if (IS_PRIVATE(at)) {
        if (in_stack(s, at)) {
            s->node[at - PRIVATE_BASE] = node;
            s->part[at - PRIVATE_BASE] = (uint8_t)part;
        }
        return;
    }
    c = node || (m->below && see(m, at)) ? make(m, at) : find(m, at);
    if (c) {
        c->node[at % 8] = node;
        c->part[at % 8] = (uint8_t)part;
    }
}

void memory_store(struct memory *m, struct private_stack *s, struct exprs *x, uint64_t at,
                  unsigned bytes, expr value)
{
    (void)x;
    for (unsigned i = 0; i < bytes; i++)
        set_byte(m, s, at + i, value, i);
}

expr memory_load(const struct memory *m, const struct private_stack *s, struct exprs *x,
                 uint64_t at, unsigned bytes)
{
    expr all = 0;

    for (unsigned i = 0; i < bytes;) {
        unsigned part, next, n = 1;
        expr node = byte_at(m, s, at + i, &part), piece;

        if (!node)
            return 0;
        while (i + n < bytes && byte_at(m, s, at + i + n, &next) == node && next == part + n)
            n++;
        piece = expr_extract(x, node, 8 * part, 8 * n);
        all = all ? expr_concat(x, piece, all) : piece;
        i += n;
    }
    return all;
}

void memory_forget(struct memory *m, struct private_stack *s, uint64_t at, uint64_t bytes)
{
    if (!IS_PRIVATE(at) && m->below && bytes > FORGET_MAX) {
        memory_forget_all(m);
        return;
    }
    if (!IS_PRIVATE(at) && !m->below && bytes / 8 > m->count) { /* rather look at the cells */
        for (size_t i = 0; i < m->ncells; i++) {
            struct memory_cell *c = &m->cells[i];
            uint64_t word = (c->word - 1) * 8;

            for (unsigned k = 0; c->word && k < 8; k++)
                if (word + k - at < bytes)
                    c->node[k] = 0;
        }
        return;
    }
    for (uint64_t i = 0; i < bytes; i++)
        set_byte(m, s, at + i, 0, 0);
}

void memory_copy(struct memory *m, struct private_stack *s, uint64_t to, uint64_t from,
                 uint64_t bytes)
{
    if (bytes > COPY_MAX) {
        memory_forget(m, s, to, bytes);
        return;
    }
    for (uint64_t k = 0; k < bytes; k++) {
        uint64_t i = to > from ? bytes - 1 - k : k;
        unsigned part = 0;
        expr node = byte_at(m, s, from + i, &part);

        set_byte(m, s, to + i, node, part);
    }
}

void memory_forget_all(struct memory *m)
{
    m->epoch++;
    m->hides = true;
}

void memory_mark(const struct memory *m, struct exprs *x)
{
    for (size_t i = 0; i < m->ncells; i++)
        for (unsigned k = 0; m->cells[i].word && k < 8; k++) {
            if (!is_current(m, &m->cells[i]))
                m->cells[i].node[k] = 0;
            exprs_mark(x, m->cells[i].node[k]);
        }
}

void private_stack_mark(const struct private_stack *s, struct exprs *x)
{
    for (uint64_t i = 0; i < s->top; i++)
        exprs_mark(x, s->node[i]);
}
