/* identity.c - fingerprints: the name a race keeps from run to run
 *
 * The id is XXH64 (seed 0) over, for each side, its function's linkage name
 * (its location where the function is unknown) and its operation, the two
 * sides in sorted order; then the variable's name without indexes, unless it
 * is only an address. No line
 * numbers where functions are known, no addresses, no threads, no positions,
 * so an edit elsewhere in the file or another run gives the same id.
 * A deadlock's id is XXH64 over the word "deadlock" and, for each request in
 * sorted order, place, operation and the lock's name without indexes.
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

static int compare_waiters(const void *a, const void *b)
{
    const struct waiter *x = *(const struct waiter *const *)a,
                        *y = *(const struct waiter *const *)b;
    int c = compare_sides(&x->request, &y->request);

    return c ? c : strcmp(x->lock_key ? x->lock_key : "", y->lock_key ? y->lock_key : "");
}

static uint64_t deadlock_fingerprint(const struct deadlock_finding *d)
{
    const struct waiter **sorted = xcalloc(d->nwaiters + 1, sizeof(*sorted));
    struct buf b = { 0 };
    uint64_t hash;

    for (size_t i = 0; i < d->nwaiters; i++)
        sorted[i] = &d->waiters[i];
    qsort(sorted, d->nwaiters, sizeof(*sorted), compare_waiters);
    add_field(&b, "deadlock");
    for (size_t i = 0; i < d->nwaiters; i++) {
        add_field(&b, place(&sorted[i]->request));
        add_field(&b, sorted[i]->request.op);
        add_field(&b, sorted[i]->lock_key ? sorted[i]->lock_key : "");
    }
    hash = XXH64(b.data, b.len, 0);
    buf_release(&b);
    free(sorted);
    return hash;
}

/* A finding that gets an id: where it is told, and its locations as one text, in sorted order. */
struct named {
    uint64_t hash;
    const char **id;
    const char *places;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return strcmp(x->places, y->places);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *join_places(struct findings *f, const char **places, size_t n)
{
    struct buf b = { 0 };
    const char *text;

    qsort(places, n, sizeof(*places), compare_texts);
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "%s\001", places[i]);
    buf_addch(&b, 0);
    text = arena_strndup(&f->memory, b.data, b.len);
    buf_release(&b);
    return text;
}

static const char *race_places(struct findings *f, const struct finding *r)
{
    const char *places[2] = { r->sides[0].location, r->sides[1].location };

    return join_places(f, places, 2);
}

static const char *deadlock_places(struct findings *f, const struct deadlock_finding *d)
{
    const char **places = xcalloc(2 * d->nwaiters + 1, sizeof(*places));
    const char *text;

    for (size_t i = 0; i < d->nwaiters; i++) {
        places[2 * i] = d->waiters[i].request.location;
        places[2 * i + 1] = d->waiters[i].hold_location;
    }
    text = join_places(f, places, 2 * d->nwaiters);
    free(places);
    return text;
}

/* A finding that comes from a result keeps its id, but for the number that tells twins apart. */
static uint64_t hash_of(const char *id, uint64_t computed)
{
    char *end;
    uint64_t hash = id ? strtoull(id, &end, 16) : 0;

    return id && end - id == 16 && (!*end || *end == '-') ? hash : computed;
}

void findings_identify(struct findings *f)
{
    size_t n = 0;
    struct named *all = xcalloc(f->count + f->ndeadlocks + 1, sizeof(*all));
    unsigned long twin = 1;

    for (size_t i = 0; i < f->count; i++)
        all[n++] = (struct named){ hash_of(f->races[i].id, fingerprint(&f->races[i])),
                                   &f->races[i].id, race_places(f, &f->races[i]) };
    for (size_t i = 0; i < f->ndeadlocks; i++)
        all[n++] =
            (struct named){ hash_of(f->deadlocks[i].id, deadlock_fingerprint(&f->deadlocks[i])),
                            &f->deadlocks[i].id, deadlock_places(f, &f->deadlocks[i]) };
    qsort(all, n, sizeof(*all), compare_named);
    for (size_t i = 0; i < n; i++) {
        char id[48];

        twin = i > 0 && all[i].hash == all[i - 1].hash ? twin + 1 : 1;
        if (twin == 1)
            snprintf(id, sizeof(id), "%016" PRIx64, all[i].hash);
        else
            snprintf(id, sizeof(id), "%016" PRIx64 "-%lu", all[i].hash, twin);
        *all[i].id = findings_string(f, id);
    }
    free(all);
}

/* ---- looking one up ---- */

const char *findings_id(const struct findings *f, size_t i)
{
    return i < f->count ? f->races[i].id : f->deadlocks[i - f->count].id;
}

bool findings_has(const struct findings *f, const char *id)
{
    for (size_t i = 0; i < f->count + f->ndeadlocks; i++)
        if (strcmp(findings_id(f, i), id) == 0)
            return true;
    return false;
}

static size_t find_number(const struct findings *f, const char *what)
{
    char *end;
    unsigned long n;

    if (what[0] < '1' || what[0] > '9' || strlen(what) > 9)
        return SIZE_MAX;
    n = strtoul(what, &end, 10);
    return *end == 0 && n <= f->count + f->ndeadlocks ? n - 1 : SIZE_MAX;
}

static size_t not_found(const struct findings *f, const char *what, size_t matches,
                        struct error *err)
{
    const char *kind = f->ndeadlocks ? "race or deadlock" : "race";

    if (matches > 1)
        error_set(err, "'%s' is the start of %zu %s ids", what, matches, kind);
    else if (f->count + f->ndeadlocks == 0)
        error_set(err, "there is no race '%s': no race was found", what);
    else
        error_set(err, "there is no %s '%s': give an id, its start, or a number up to %zu", kind,
                  what, f->count + f->ndeadlocks);
    return SIZE_MAX;
}

/* An exact id wins over a number, a number over the start of an id. */
size_t findings_find(const struct findings *f, const char *what, struct error *err)
{
    size_t len = strlen(what), matches = 0, found = SIZE_MAX;

    for (size_t i = 0; i < f->count + f->ndeadlocks; i++) {
        if (strcmp(findings_id(f, i), what) == 0)
            return i;
        if (len && strncmp(findings_id(f, i), what, len) == 0) {
            found = i;
            matches++;
        }
    }
    if (find_number(f, what) != SIZE_MAX)
        return find_number(f, what);
    return matches == 1 ? found : not_found(f, what, matches, err);
}
