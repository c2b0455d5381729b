/* suppress.c - rules applied to findings
 *
 * A race goes when a rule matches one of its two sides, as ThreadSanitizer and
 * Helgrind do it. Frames whose code is not traced have a module as location
 * ("libc.so.6+0x89044"): that is what obj: and called_from_lib: look at.
 */
#include "report/suppress.h"
#include "base/alloc.h"
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

/* ---- patterns ---- */

/* From the start of the text on: does it begin with the pattern? Only the last * has to be tried
 * at several places. */
static bool begins_with(const char *pattern, const char *text)
{
    const char *star = NULL, *back = text;

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

bool pattern_matches(const char *pattern, const char *text)
{
    if (!text)
        return false;
    if (*pattern == '^')
        return begins_with(pattern + 1, text);
    for (;; text++) {
        if (begins_with(pattern, text))
            return true;
        if (!*text)
            return false;
    }
}

/* ---- frames ---- */

static bool is_module(const char *location)
{
    return location && strstr(location, "+0x");
}

/* Function, file or module. */
static bool frame_matches(const struct frame *f, const char *pattern)
{
    return pattern_matches(pattern, f->function) || pattern_matches(pattern, f->location);
}

static bool any_frame(const struct stack *s, const char *pattern)
{
    for (size_t i = 0; i < s->count; i++)
        if (frame_matches(&s->frames[i], pattern))
            return true;
    return false;
}

static bool side_has(const struct side *s, const char *pattern)
{
    return pattern_matches(pattern, s->function) || pattern_matches(pattern, s->symbol) ||
           pattern_matches(pattern, s->location) || any_frame(&s->stack, pattern);
}

static bool side_tops(const struct side *s, const char *pattern)
{
    if (s->stack.count)
        return frame_matches(&s->stack.frames[0], pattern);
    return pattern_matches(pattern, s->function) || pattern_matches(pattern, s->location);
}

/* Code of that library did it: the innermost frame that is not ours to trace. */
static bool side_is_from(const struct side *s, const char *library)
{
    for (size_t i = 0; i < s->stack.count; i++)
        if (is_module(s->stack.frames[i].location))
            return pattern_matches(library, s->stack.frames[i].location);
    return is_module(s->location) && pattern_matches(library, s->location);
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

static bool block_matches(const char *const *lines, size_t n, const struct frame *frames,
                          size_t count)
{
    if (n == 0)
        return true;
    if (strcmp(lines[0], "...") == 0) {
        for (size_t i = 0; i <= count; i++)
            if (block_matches(lines + 1, n - 1, frames + i, count - i))
                return true;
        return false;
    }
    return count > 0 && line_matches(lines[0], &frames[0]) &&
           block_matches(lines + 1, n - 1, frames + 1, count - 1);
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

/* ---- findings ---- */

static bool matches_side(const struct suppress_rule *r, const struct side *s)
{
    switch (r->kind) {
    case RULE_RACE:
        return side_has(s, r->pattern);
    case RULE_RACE_TOP:
        return side_tops(s, r->pattern);
    case RULE_LIB:
        return side_is_from(s, r->pattern);
    case RULE_BLOCK:
        return block_has(r, s);
    case RULE_LOCATION:
        return pattern_matches(r->pattern, s->location);
    default:
        return false;
    }
}

static bool matches_race(const struct suppress_rule *r, const struct finding *f)
{
    if (r->kind == RULE_VARIABLE || r->kind == RULE_RACE)
        if (pattern_matches(r->pattern, f->variable))
            return true;
    return matches_side(r, &f->sides[0]) || matches_side(r, &f->sides[1]);
}

static bool matches_deadlock(const struct suppress_rule *r, const struct deadlock_finding *d)
{
    for (size_t i = 0; i < d->nwaiters; i++) {
        const struct side *s = &d->waiters[i].request;

        if (r->kind == RULE_DEADLOCK &&
            (side_has(s, r->pattern) || pattern_matches(r->pattern, d->waiters[i].lock)))
            return true;
        if (r->kind == RULE_BLOCK_DEADLOCK && block_has(r, s))
            return true;
        if (r->kind == RULE_LOCATION && matches_side(r, s))
            return true;
    }
    return false;
}

/* Rules as they are looked for: a result that was suppressed as a whole has an id rule for each of
 * its findings, so these are not tried one after the other. */
struct lookup {
    struct suppress_rule *rules;
    struct intern ids;    /* of id rules */
    uint32_t *rule_of_id; /* the first of them */
    size_t rules_cap;
    uint32_t *others; /* numbers of all other rules, in their order */
    size_t nothers;
};

static void lookup_init(struct lookup *l, const struct suppressions *s)
{
    *l = (struct lookup){ .rules = s->rules };
    l->others = xcalloc(s->count + 1, sizeof(*l->others));
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t known = l->ids.count;

        if (s->rules[i].kind != RULE_ID) {
            l->others[l->nothers++] = i;
        } else if (intern_put(&l->ids, s->rules[i].pattern, strlen(s->rules[i].pattern)) == known) {
            GROW(l->rule_of_id, l->rules_cap, (size_t)known + 1);
            l->rule_of_id[known] = i;
        }
    }
}

static void lookup_release(struct lookup *l)
{
    intern_release(&l->ids);
    free(l->rule_of_id);
    free(l->others);
}

/* The first rule that matches counts. */
static bool stays(void *arg, const struct finding *race, const struct deadlock_finding *deadlock)
{
    struct lookup *l = arg;
    const char *id = race ? race->id : deadlock->id;
    uint32_t number = intern_find(&l->ids, id, strlen(id));
    uint32_t rule = number == INTERN_NONE ? UINT32_MAX : l->rule_of_id[number];

    for (size_t i = 0; i < l->nothers && l->others[i] < rule; i++) {
        const struct suppress_rule *r = &l->rules[l->others[i]];

        if (race ? matches_race(r, race) : matches_deadlock(r, deadlock))
            rule = l->others[i];
    }
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
    f->suppressed += findings_keep(f, stays, &l);
    lookup_release(&l);
    list_rules(s, f);
}
