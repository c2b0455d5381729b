/* suppress_apply.c - rules applied to findings
 *
 * A race goes when a rule matches one of its two sides, as ThreadSanitizer and
 * Helgrind do it. Frames whose code is not traced have a module as location
 * ("libc.so.6+0x89044"): that is what obj: and called_from_lib: look at.
 * Each text is compared with all rules of a kind at once (patterns.h).
 */
#include "report/suppress.h"
#include "base/alloc.h"
#include "report/patterns.h"
#include "report/stacks.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void suppressions_release(struct suppressions *s)
{
    free(s->rules);
    arena_release(&s->memory);
    *s = (struct suppressions){ 0 };
}

/* ---- frames ---- */

static bool is_module(const char *location)
{
    return location && strstr(location, "+0x");
}

/* ---- Valgrind's blocks ---- */

/* fun: and obj: are globs of the whole name; src: is a file's name, perhaps with a line. */
static bool line_matches(const char *line, const struct frame *f)
{
    const char *glob = line + 4, *slash;

    if (line[0] == 'f')
        return f->function && fnmatch(glob, f->function, 0) == 0;
    if (!f->location)
        return false;
    if (line[0] == 'o') {
        size_t n = strcspn(f->location, "+");
        char module[512];

        snprintf(module, sizeof(module), "%.*s", (int)n, f->location);
        slash = strrchr(glob, '/'); /* the trace has the module's name, not its path */
        return is_module(f->location) &&
               (fnmatch(glob, module, 0) == 0 || (slash && fnmatch(slash + 1, module, 0) == 0));
    }
    slash = strrchr(f->location, '/');
    slash = slash ? slash + 1 : f->location;
    return strncmp(slash, glob, strlen(glob)) == 0 &&
           (slash[strlen(glob)] == 0 || slash[strlen(glob)] == ':');
}

/* Do the frames begin like the lines? "..." is any number of frames; only the last one met has to
 * be tried at several places. */
static bool block_matches(const char *const *lines, size_t n, const struct frame *frames,
                          size_t count)
{
    size_t line = 0, at = 0, after = SIZE_MAX, back = 0;

    while (line < n) {
        if (strcmp(lines[line], "...") == 0) {
            after = ++line;
            back = at;
        } else if (at < count && line_matches(lines[line], &frames[at])) {
            line++;
            at++;
        } else if (after != SIZE_MAX && back < count) {
            line = after;
            at = ++back;
        } else {
            return false;
        }
    }
    return true;
}

static bool block_has(const struct suppress_rule *r, const struct side *s)
{
    struct frame only = { s->function, s->location, false };

    if (!r->nlines)
        return false;
    if (!s->stack.count)
        return block_matches(r->lines, r->nlines, &only, 1);
    return block_matches(r->lines, r->nlines, s->stack.frames, s->stack.count);
}

/* ---- all rules at once ---- */

/* Rules as they are looked for: there may be as many of them as findings, so none of the usual
 * kinds is tried one after the other. What is: blocks whose first line is not the plain name of a
 * function. */
struct lookup {
    struct suppress_rule *rules;
    struct named_rules {
        struct intern names;
        uint32_t *first; /* of each name: a rule, and the next one by `next` */
        size_t cap;
    } ids, functions;
    uint32_t *next; /* rule -> the next rule with the name; UINT32_MAX: none */
    struct patterns of[RULE_NOTHING];
    uint32_t *others; /* numbers of all other blocks, in their order */
    size_t nothers;
};

static void add_named(struct lookup *l, struct named_rules *n, const char *name, uint32_t rule)
{
    uint32_t known = n->names.count, number = intern_put(&n->names, name, strlen(name));

    GROW(n->first, n->cap, (size_t)number + 1);
    l->next[rule] = number == known ? UINT32_MAX : n->first[number];
    n->first[number] = rule;
}

static bool is_plain_function(const char *line)
{
    return strncmp(line, "fun:", 4) == 0 && !strpbrk(line + 4, "*?[\\");
}

/* Those that come first are added last, so that they are found first. */
static void add_rule(struct lookup *l, uint32_t i)
{
    const struct suppress_rule *r = &l->rules[i];

    if (r->kind == RULE_ID)
        add_named(l, &l->ids, r->pattern, i);
    else if (r->kind != RULE_BLOCK && r->kind != RULE_BLOCK_DEADLOCK && r->kind < RULE_NOTHING)
        patterns_add(&l->of[r->kind], r->pattern, i);
    else if (r->nlines && is_plain_function(r->lines[0]))
        add_named(l, &l->functions, r->lines[0] + 4, i);
    else if (r->nlines)
        l->others[l->nothers++] = i;
}

static void lookup_init(struct lookup *l, const struct suppressions *s)
{
    *l = (struct lookup){ .rules = s->rules };
    l->others = xcalloc(s->count + 1, sizeof(*l->others));
    l->next = xcalloc(s->count + 1, sizeof(*l->next));
    for (uint32_t i = (uint32_t)s->count; i > 0; i--)
        add_rule(l, i - 1);
    for (int kind = 0; kind < RULE_NOTHING; kind++)
        patterns_seal(&l->of[kind]);
}

static void lookup_release(struct lookup *l)
{
    intern_release(&l->ids.names);
    intern_release(&l->functions.names);
    free(l->ids.first);
    free(l->functions.first);
    free(l->next);
    free(l->others);
    for (int kind = 0; kind < RULE_NOTHING; kind++)
        patterns_release(&l->of[kind]);
}

/* The first rule with this name, UINT32_MAX: there is none. */
static uint32_t rule_named(const struct named_rules *n, const char *name)
{
    uint32_t number = name ? intern_find(&n->names, name, strlen(name)) : INTERN_NONE;

    return number == INTERN_NONE ? UINT32_MAX : n->first[number];
}

static void suppress_take(uint32_t *best, uint32_t rule)
{
    *best = rule < *best ? rule : *best;
}

/* ---- sides ---- */

static void match_frame(struct patterns *p, const struct frame *f, uint32_t *best)
{
    suppress_take(best, patterns_first(p, f->function));
    suppress_take(best, patterns_first(p, f->location));
}

/* Function, file or module of any frame. */
static void match_any(struct patterns *p, const struct side *s, uint32_t *best)
{
    suppress_take(best, patterns_first(p, s->function));
    suppress_take(best, patterns_first(p, s->symbol));
    suppress_take(best, patterns_first(p, s->location));
    for (size_t i = 0; i < s->stack.count; i++)
        match_frame(p, &s->stack.frames[i], best);
}

static void match_top(struct patterns *p, const struct side *s, uint32_t *best)
{
    const struct frame only = { s->function, s->location, false };

    match_frame(p, s->stack.count ? &s->stack.frames[0] : &only, best);
}

/* Code of that library did it: the innermost frame that is not ours to trace. */
static void match_library(struct patterns *p, const struct side *s, uint32_t *best)
{
    for (size_t i = 0; i < s->stack.count; i++)
        if (is_module(s->stack.frames[i].location)) {
            suppress_take(best, patterns_first(p, s->stack.frames[i].location));
            return;
        }
    if (is_module(s->location))
        suppress_take(best, patterns_first(p, s->location));
}

static void try_block(const struct lookup *l, uint32_t rule, enum rule_kind kind,
                      const struct side *s, uint32_t *best)
{
    if (rule < *best && l->rules[rule].kind == kind && block_has(&l->rules[rule], s))
        *best = rule;
}

static void match_blocks(const struct lookup *l, enum rule_kind kind, const struct side *s,
                         uint32_t *best)
{
    const char *top = s->stack.count ? s->stack.frames[0].function : s->function;

    for (uint32_t r = rule_named(&l->functions, top); r < *best; r = l->next[r])
        try_block(l, r, kind, s, best);
    for (size_t i = l->nothers; i > 0 && l->others[i - 1] < *best; i--)
        try_block(l, l->others[i - 1], kind, s, best);
}

/* ---- findings ---- */

static void match_race(struct lookup *l, const struct finding *f, uint32_t *best)
{
    suppress_take(best, patterns_first(&l->of[RULE_VARIABLE], f->variable));
    suppress_take(best, patterns_first(&l->of[RULE_RACE], f->variable));
    if (f->descriptor)
        suppress_take(best, patterns_first(&l->of[RULE_FD_RACE], f->variable));
    for (int k = 0; k < 2; k++) {
        const struct side *s = &f->sides[k];

        match_any(&l->of[RULE_RACE], s, best);
        if (f->descriptor)
            match_any(&l->of[RULE_FD_RACE], s, best);
        match_top(&l->of[RULE_RACE_TOP], s, best);
        match_library(&l->of[RULE_LIB], s, best);
        suppress_take(best, patterns_first(&l->of[RULE_LOCATION], s->location));
        match_blocks(l, RULE_BLOCK, s, best);
    }
}

static void match_deadlock(struct lookup *l, const struct deadlock_finding *d, uint32_t *best)
{
    for (size_t i = 0; i < d->nwaiters; i++) {
        const struct side *s = &d->waiters[i].request;

        match_any(&l->of[RULE_DEADLOCK], s, best);
        suppress_take(best, patterns_first(&l->of[RULE_DEADLOCK], d->waiters[i].lock));
        suppress_take(best, patterns_first(&l->of[RULE_LOCATION], s->location));
        match_blocks(l, RULE_BLOCK_DEADLOCK, s, best);
    }
}

/* The first rule that matches counts. */
static bool suppress_stays(void *arg, const struct finding *race,
                           const struct deadlock_finding *deadlock)
{
    struct lookup *l = arg;
    uint32_t rule = rule_named(&l->ids, race ? race->id : deadlock->id);

    if (race)
        match_race(l, race, &rule);
    else
        match_deadlock(l, deadlock, &rule);
    if (rule == UINT32_MAX)
        return true;
    l->rules[rule].hits++;
    return false;
}

/* The rules as the findings show them, without those about other tools' reports. */
static void list_rules(const struct suppressions *s, struct findings *f)
{
    f->rules = arena_alloc(&f->memory, (s->count + 1) * sizeof(*f->rules));
    f->nrules = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->rules[i].kind != RULE_NOTHING)
            f->rules[f->nrules++] = (struct findings_rule){ findings_string(f, s->rules[i].text),
                                                            findings_string(f, s->rules[i].file),
                                                            s->rules[i].line, s->rules[i].hits };
}

void suppressions_apply(struct suppressions *s, struct findings *f)
{
    struct lookup l;

    lookup_init(&l, s);
    f->suppressed += findings_keep(f, suppress_stays, &l);
    lookup_release(&l);
    list_rules(s, f);
}
