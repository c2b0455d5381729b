/* patterns.c - many patterns against many texts */
#include "report/patterns.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- one pattern ---- */

/* `star`: what follows the last *, to be tried at each place from `back` on; NULL: there was none.
 */
static bool matches_from(const char *pattern, const char *text, const char *star)
{
    const char *back = text;

    for (;;) {
        if (!*pattern)
            return true;
        if (*pattern == '*') {
            star = ++pattern;
            back = text;
        } else if (*pattern == '$' && !pattern[1] && !*text) {
            return true;
        } else if (*text && *pattern == *text) {
            pattern++;
            text++;
        } else if (star && *back) {
            pattern = star;
            text = ++back;
        } else {
            return false;
        }
    }
}

/* A part of the text is what follows any text. */
bool pattern_matches(const char *pattern, const char *text)
{
    if (!text)
        return false;
    if (*pattern == '^')
        return matches_from(pattern + 1, text, NULL);
    return matches_from(pattern, text, pattern);
}

/* The longest piece that a matching text holds as it is. A $ at the end stands for the end, or for
 * itself. */
static size_t longest_piece(const char *pattern, const char **piece)
{
    const char *at = pattern + (*pattern == '^');
    size_t best = 0;

    *piece = at;
    while (*at) {
        size_t n = strcspn(at, "*");
        size_t kept = n && !at[n] && at[n - 1] == '$' ? n - 1 : n;

        if (kept > best) {
            best = kept;
            *piece = at;
        }
        at += n + (at[n] == '*');
    }
    return best;
}

/* ---- the automaton ---- */

void patterns_release(struct patterns *p)
{
    free(p->list);
    free(p->nodes);
    map_release(&p->edges);
    map_release(&p->answered);
    *p = (struct patterns){ 0 };
}

static uint64_t edge(uint32_t node, char byte)
{
    return (uint64_t)node << 8 | (uint8_t)byte;
}

static uint32_t add_node(struct patterns *p, uint32_t above, char by)
{
    GROW(p->nodes, p->nodes_cap, p->nnodes + 1);
    p->nodes[p->nnodes] = (struct pattern_node){ .above = above, .by = (uint8_t)by };
    return (uint32_t)p->nnodes++;
}

void patterns_add(struct patterns *p, const char *pattern, uint32_t rule)
{
    const char *piece;
    size_t n = longest_piece(pattern, &piece);
    uint32_t node = 0;

    if (!p->nnodes)
        add_node(p, 0, 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t *next = map_put(&p->edges, edge(node, piece[i]), 0);

        if (!*next)
            *next = add_node(p, node, piece[i]);
        node = *next;
    }
    GROW(p->list, p->cap, p->count + 1);
    p->list[p->count++] = (struct pattern){ pattern, rule, p->nodes[node].ends };
    p->nodes[node].ends = (uint32_t)p->count;
}

/* Where a text goes on from a node. */
static uint32_t step(const struct patterns *p, uint32_t node, char byte)
{
    const uint32_t *next;

    while (!(next = map_get(&p->edges, edge(node, byte))) && node)
        node = p->nodes[node].fail;
    return next ? *next : 0;
}

/* Nodes by depth: those above come first. */
static uint32_t *by_depth(const struct patterns *p)
{
    uint32_t *depth = xcalloc(p->nnodes, sizeof(*depth)), *start, *order, deepest = 0;

    for (size_t i = 1; i < p->nnodes; i++) { /* a node is made after the one above it */
        depth[i] = depth[p->nodes[i].above] + 1;
        deepest = depth[i] > deepest ? depth[i] : deepest;
    }
    start = xcalloc((size_t)deepest + 2, sizeof(*start));
    order = xcalloc(p->nnodes, sizeof(*order));
    for (size_t i = 0; i < p->nnodes; i++)
        start[depth[i] + 1]++;
    for (uint32_t i = 0; i <= deepest; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < p->nnodes; i++)
        order[start[depth[i]]++] = (uint32_t)i;
    free(depth);
    free(start);
    return order;
}

void patterns_seal(struct patterns *p)
{
    uint32_t *order = p->nnodes ? by_depth(p) : NULL;

    for (size_t i = 1; i < p->nnodes; i++) {
        struct pattern_node *n = &p->nodes[order[i]];

        if (n->above)
            n->fail = step(p, p->nodes[n->above].fail, (char)n->by);
        n->hit = p->nodes[n->fail].ends && n->fail ? n->fail : p->nodes[n->fail].hit;
    }
    free(order);
}

/* ---- questions ---- */

/* The patterns whose piece ends at a node, the lowest rule first. */
static uint32_t try_node(struct patterns *p, uint32_t node, const char *text, uint32_t best)
{
    for (uint32_t i = p->nodes[node].ends; i; i = p->list[i - 1].next) {
        if (p->list[i - 1].rule >= best)
            return best;
        p->tried++;
        if (pattern_matches(p->list[i - 1].text, text))
            return p->list[i - 1].rule;
    }
    return best;
}

static uint32_t patterns_search(struct patterns *p, const char *text)
{
    uint32_t best = try_node(p, 0, text, PATTERNS_NONE), node = 0; /* those without any piece */

    p->asked++;
    for (const char *at = text; *at; at++) {
        node = step(p, node, *at);
        for (uint32_t hit = node; hit && p->nodes[hit].asked != p->asked; hit = p->nodes[hit].hit) {
            p->nodes[hit].asked = p->asked;
            best = try_node(p, hit, text, best);
        }
    }
    return best;
}

uint32_t patterns_first(struct patterns *p, const char *text)
{
    const uint32_t *known;
    uint32_t rule;

    if (!text || !p->nnodes)
        return PATTERNS_NONE;
    known = map_get(&p->answered, (uintptr_t)text);
    if (known)
        return *known;
    rule = patterns_search(p, text);
    map_put(&p->answered, (uintptr_t)text, rule);
    return rule;
}
