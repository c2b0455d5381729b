/* identity.c - fingerprints: the name a race keeps from run to run
 *
 * The id is XXH64 (seed 0) over, for each side, its function's linkage name
 * (its location where the function is unknown) and its operation, the two
 * sides in sorted order; then the variable's name without indexes, unless it
 * is only an address. No line
 * numbers where functions are known, no addresses, no threads, no positions,
 * so an edit elsewhere in the file or another run gives the same id.
 * Findings of one result whose ids collide get "-2", "-3" in the order of
 * their locations, which does not depend on the run either.
 */
#include "report/findings.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char *place(const struct side *s)
{
    return s->symbol ? s->symbol : s->function ? s->function : s->location;
}

static int compare_sides(const struct side *a, const struct side *b)
{
    int c = strcmp(place(a), place(b));

    return c ? c : strcmp(a->op, b->op);
}

/* The ends of strings are part of the text, so that "ab","c" differs from "a","bc". */
static void add_field(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s) + 1);
}

static uint64_t fingerprint(const struct finding *r)
{
    unsigned low = compare_sides(&r->sides[0], &r->sides[1]) > 0;
    struct buf b = { 0 };
    uint64_t hash;

    for (unsigned k = 0; k < 2; k++) {
        const struct side *s = &r->sides[k ? !low : low];

        add_field(&b, place(s));
        add_field(&b, s->op);
    }
    if (r->variable_key)
        add_field(&b, r->variable_key);
    hash = XXH64(b.data, b.len, 0);
    buf_release(&b);
    return hash;
}

struct named {
    uint64_t hash;
    struct finding *race;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    const char *lx[2], *ly[2];
    int c;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    for (int k = 0; k < 2; k++) {
        lx[k] = x->race->sides[k].location;
        ly[k] = y->race->sides[k].location;
    }
    /* each pair with its smaller text first */
    if (strcmp(lx[0], lx[1]) > 0)
        lx[0] = x->race->sides[1].location, lx[1] = x->race->sides[0].location;
    if (strcmp(ly[0], ly[1]) > 0)
        ly[0] = y->race->sides[1].location, ly[1] = y->race->sides[0].location;
    c = strcmp(lx[0], ly[0]);
    return c ? c : strcmp(lx[1], ly[1]);
}

void findings_identify(struct findings *f)
{
    struct named *all = xcalloc(f->count + 1, sizeof(*all));
    unsigned long twin = 1;

    for (size_t i = 0; i < f->count; i++)
        all[i] = (struct named){ fingerprint(&f->races[i]), &f->races[i] };
    qsort(all, f->count, sizeof(*all), compare_named);
    for (size_t i = 0; i < f->count; i++) {
        char id[48];

        twin = i > 0 && all[i].hash == all[i - 1].hash ? twin + 1 : 1;
        if (twin == 1)
            snprintf(id, sizeof(id), "%016" PRIx64, all[i].hash);
        else
            snprintf(id, sizeof(id), "%016" PRIx64 "-%lu", all[i].hash, twin);
        all[i].race->id = findings_string(f, id);
    }
    free(all);
}

static const struct finding *find_number(const struct findings *f, const char *what)
{
    char *end;
    unsigned long n;

    if (what[0] < '1' || what[0] > '9' || strlen(what) > 9)
        return NULL;
    n = strtoul(what, &end, 10);
    return *end == 0 && n <= f->count ? &f->races[n - 1] : NULL;
}

/* An exact id wins over a number, a number over the start of an id. */
const struct finding *findings_find(const struct findings *f, const char *what, struct error *err)
{
    const struct finding *found = NULL;
    size_t len = strlen(what), matches = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->races[i].id, what) == 0)
            return &f->races[i];
        if (len && strncmp(f->races[i].id, what, len) == 0) {
            found = &f->races[i];
            matches++;
        }
    }
    if (find_number(f, what))
        return find_number(f, what);
    if (matches == 1)
        return found;
    if (matches > 1)
        error_set(err, "'%s' is the start of %zu race ids", what, matches);
    else if (f->count == 0)
        error_set(err, "there is no race '%s': no race was found", what);
    else
        error_set(err, "there is no race '%s': give an id, its start, or a number up to %zu", what,
                  f->count);
    return NULL;
}
