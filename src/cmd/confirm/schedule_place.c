/* schedule_place.c - places of race.schedule and sites of a build */
#include "cmd/confirm/schedule_place.h"
#include "base/alloc.h"
#include "trace/event.h"

#include <stdlib.h>
#include <string.h>

/* One access of a function as it is in one table: copies have the same line and column. */
struct copy {
    const struct sites_header *h;
    uint32_t index, line, column;
    bool same_caller;
};

struct copies {
    struct copy *list; /* owned */
    size_t count, cap;
};

/* ---- what belongs together ---- */

static const char *string_or_null(const struct sites_header *h, uint32_t s)
{
    return s ? sites_string(h, s) : NULL;
}

static bool equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The function that code was inlined into, or NULL. */
static const char *caller_of(const struct sites_header *h, const struct sites_site *s)
{
    uint32_t frame = s->inlined_at;
    const struct sites_frame *f = NULL;

    while (frame) {
        f = sites_frame(h, frame - 1);
        frame = f->inlined_at;
    }
    return f ? string_or_null(h, f->function) : NULL;
}

static bool is_alike(const struct sites_header *h, const struct sites_site *s,
                     const struct schedule_place *p, uint32_t kind)
{
    return s->kind == kind && equal(string_or_null(h, s->function), p->function) &&
           (!p->variable || equal(string_or_null(h, s->variable), p->variable));
}

static void add_alike(struct copies *c, const struct sites_header *h,
                      const struct schedule_place *p, uint32_t kind)
{
    for (uint32_t i = 0; i < h->nsites; i++) {
        const struct sites_site *s = sites_site(h, i);

        if (!is_alike(h, s, p, kind))
            continue;
        GROW(c->list, c->cap, c->count + 1);
        c->list[c->count++] = (struct copy){ .h = h,
                                             .index = i,
                                             .line = s->line,
                                             .column = s->column,
                                             .same_caller = equal(caller_of(h, s), p->caller) };
    }
}

static bool is_same_access(const struct copy *a, const struct copy *b)
{
    return a->line == b->line && a->column == b->column;
}

/* In the order of the source; of one access the copy with the same caller first. */
static int compare_copies(const void *x, const void *y)
{
    const struct copy *a = x, *b = y;

    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    if (a->same_caller != b->same_caller)
        return a->same_caller ? -1 : 1;
    if (a->h != b->h)
        return memcmp(a->h->id, b->h->id, sizeof(a->h->id));
    return a->index < b->index ? -1 : a->index > b->index;
}

/* How many accesses they are. */
static size_t sort_copies(struct copies *c)
{
    size_t n = 0;

    if (c->count)
        qsort(c->list, c->count, sizeof(*c->list), compare_copies);
    for (size_t i = 0; i < c->count; i++)
        n += i == 0 || !is_same_access(&c->list[i], &c->list[i - 1]);
    return n;
}

/* ---- from a site ---- */

static char *schedule_place_keep(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

static void count_alike(struct schedule_place *p, const struct sites_header *h, uint32_t index)
{
    const struct sites_site *s = sites_site(h, index);
    struct copies c = { 0 };

    add_alike(&c, h, p, s->kind);
    p->of = sort_copies(&c);
    for (size_t i = 0; i < c.count; i++) {
        p->nth += i == 0 || !is_same_access(&c.list[i], &c.list[i - 1]);
        if (c.list[i].line == s->line && c.list[i].column == s->column)
            break;
    }
    free(c.list);
}

bool place_of_site(struct schedule_place *p, const struct linked *l, const uint64_t module[2],
                   uint32_t index, struct arena *strings)
{
    const struct sites_header *h = linked_find(l, module, NULL);
    const struct sites_site *s;

    *p = (struct schedule_place){ 0 };
    if (!h || index >= h->nsites)
        return false;
    s = sites_site(h, index);
    *p = (struct schedule_place){
        .function = schedule_place_keep(strings, string_or_null(h, s->function)),
        .caller = schedule_place_keep(strings, caller_of(h, s)),
        .variable = schedule_place_keep(strings, string_or_null(h, s->variable)),
        .file = schedule_place_keep(strings, string_or_null(h, s->file)),
        .line = s->line,
        .column = s->column,
    };
    count_alike(p, h, index);
    return true;
}

/* ---- to sites ---- */

static const char *schedule_place_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

/* Functions of one name in several files: those in a file of the same name count, if there are
 * any. */
static void keep_file(struct copies *c, const struct schedule_place *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct sites_site *s = sites_site(c->list[i].h, c->list[i].index);

        if (strcmp(schedule_place_base_name(string_or_null(c->list[i].h, s->file)),
                   schedule_place_base_name(p->file)) == 0)
            c->list[kept++] = c->list[i];
    }
    if (kept)
        c->count = kept;
}

static void schedule_place_collect(struct copies *c, const struct linked *l,
                                   const struct schedule_place *p, uint32_t kind)
{
    for (size_t f = 0; f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++)
            add_alike(c, site_tables_get(l->files[f].tables, i), p, kind);
    keep_file(c, p);
}

static bool has_function(const struct linked *l, const char *function)
{
    for (size_t f = 0; f < l->count; f++)
        for (size_t t = 0; t < site_tables_count(l->files[f].tables); t++) {
            const struct sites_header *h = site_tables_get(l->files[f].tables, t);

            for (uint32_t i = 0; i < h->nsites; i++)
                if (equal(string_or_null(h, sites_site(h, i)->function), function))
                    return true;
        }
    return false;
}

static void add_nth(struct place_sites *out, const struct copies *c, size_t nth)
{
    size_t n = 0;

    for (size_t i = 0; i < c->count && out->count < PLACE_SITES_MOST; i++) {
        const struct copy *k = &c->list[i];

        n += i == 0 || !is_same_access(k, &c->list[i - 1]);
        if (n != nth)
            continue;
        out->at[out->count] = (struct prod_site){ .index = k->index };
        memcpy(out->at[out->count++].module, k->h->id, sizeof(k->h->id));
    }
}

/* The n-th if there are as many as there were, else that one and those beside it. */
static void schedule_place_choose(struct place_sites *out, struct copies *c,
                                  const struct schedule_place *p)
{
    size_t n = sort_copies(c), nth = p->nth < 1 ? 1 : p->nth > n ? n : p->nth;

    add_nth(out, c, nth);
    out->moved = n != p->of;
    for (size_t away = 1; out->moved && away < n; away++) {
        if (nth + away <= n)
            add_nth(out, c, nth + away);
        if (nth > away)
            add_nth(out, c, nth - away);
    }
}

enum place_match place_sites_find(struct place_sites *out, const struct linked *l,
                                  const struct schedule_place *p, unsigned op)
{
    bool atomic = op == OP_LOAD || op == OP_STORE || op == OP_RMW;
    struct copies c = { 0 };

    *out = (struct place_sites){ 0 };
    schedule_place_collect(&c, l, p, atomic ? SITE_ATOMIC : op == OP_READ ? SITE_READ : SITE_WRITE);
    if (!c.count)
        schedule_place_collect(&c, l, p, SITE_LIBC);
    if (c.count)
        schedule_place_choose(out, &c, p);
    free(c.list);
    return out->count                     ? PLACE_FOUND
           : has_function(l, p->function) ? PLACE_NO_ACCESS
                                          : PLACE_NO_FUNCTION;
}
