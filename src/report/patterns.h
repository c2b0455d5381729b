/* patterns.h - many patterns against many texts: which rule is the first that matches?
 *
 * The patterns are ThreadSanitizer's: a part of the text, * is any text, ^ and $ its ends. One text
 * is compared with all of them at once, by the automaton of Aho and Corasick (Efficient string
 * matching, 1975) over the longest piece of each pattern that has no *; only patterns whose piece
 * is in the text are then tried in full.
 *
 *     patterns_add(p, "push", 3);  patterns_add(p, "^pop$", 2);  patterns_seal(p);
 *     rule = patterns_first(p, text);
 *
 * Cost: building, linear in the patterns; a text, linear in its length, and a comparison for each
 * pattern whose piece it holds and whose rule is before the answer. The answer for a text is
 * kept by its address, so texts must be interned and live as long as this.
 * Ownership: patterns are borrowed. Concurrency: none. A zeroed struct is empty.
 */
#ifndef HEDDLE_REPORT_PATTERNS_H
#define HEDDLE_REPORT_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define PATTERNS_NONE UINT32_MAX

struct patterns {
    struct pattern {
        const char *text;
        uint32_t rule;
        uint32_t next; /* another one whose piece ends at the same node, + 1 */
    } *list;
    size_t count, cap;
    struct pattern_node {
        uint32_t fail;  /* the longest other piece that the text may be in now */
        uint32_t ends;  /* a pattern whose piece ends here, + 1 */
        uint32_t hit;   /* the next node by `fail` at which a piece ends; 0: none */
        uint32_t above; /* the node this one is reached from */
        uint8_t by;     /* and by which byte */
        uint32_t asked; /* the last text in which it was met */
    } *nodes;
    size_t nnodes, nodes_cap;
    struct map edges;    /* node and byte -> node */
    struct map answered; /* address of a text -> rule */
    uint32_t asked;      /* texts so far */
    uint64_t tried;      /* comparisons in full, so far */
};

void patterns_release(struct patterns *p);
/* Rules in descending order. */
void patterns_add(struct patterns *p, const char *pattern, uint32_t rule);
void patterns_seal(struct patterns *p);

/* The lowest rule whose pattern the text matches; PATTERNS_NONE: none does, or text is NULL. */
uint32_t patterns_first(struct patterns *p, const char *text);

/* One pattern and one text. O(length of the pattern * length of the text) at worst. */
bool pattern_matches(const char *pattern, const char *text);

#endif
