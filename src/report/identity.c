/* identity.c - fingerprints: the name a race keeps from run to run
 *
 * The id is XXH64 (seed 0) over, for each side, the file and the linkage name
 * of its function (its location where the function is unknown; where that is a
 * system's header, also the function that uses it), its operation
 * and what the code there calls the variable, the two sides in sorted order;
 * then the name that a variable has in a text trace. No line
 * numbers where functions are known, no addresses, objects, threads or positions,
 * so an edit elsewhere in the file, another run or another object of
 * the same code gives the same id.
 * A deadlock's id is XXH64 over the word "deadlock" and, for each request in
 * sorted order, file, function, operation and the lock's name in a text trace.
 * Findings of one result whose ids collide get "-2", "-3" in the order of
 * their locations, which does not depend on the run either.
 *
 * Files are named as seen from the program: without the folders that lead to both.
 * So a checkout elsewhere gives the same ids, and a/util.c is not b/util.c.
 */
#include "report/findings.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "report/naming.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The ends of strings are part of the text, so that "ab","c" differs from "a","bc". */
static void add_field(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s) + 1);
}

/* Bytes of the folders, the last '/' included, that two absolute paths have in common. */
static size_t common_folders(const char *a, const char *b)
{
    size_t n = 0;

    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/')
            n = i + 1;
    return n;
}

/* Where the last two parts of a path begin. */
static size_t last_two_parts(const char *path, size_t n)
{
    for (unsigned slashes = 0; n > 0; n--)
        if (path[n - 1] == '/' && ++slashes == 2)
            return n;
    return 0;
}

/* "x/util.c:": the file of a location, as seen from the program. Where nothing but the root leads
 * to both, or the file belongs to the system, its own folder and name have to do. */
static void identity_add_file(struct buf *b, const struct findings *f, const char *location)
{
    size_t n, shared = 0;
    uint32_t line, column;

    if (!location_split(location, &n, &line, &column))
        return;
    if (location[0] == '/') {
        if (f->trace.program && !location_is_system(location))
            shared = common_folders(location, f->trace.program);
        if (shared <= 1 || shared > n)
            shared = last_two_parts(location, n);
    }
    buf_add(b, location + shared, n - shared);
    buf_addch(b, ':');
}

/* Code of a system's header stands for whoever uses it: the first function of the program's own
 * that it is called from belongs to the place. */
static void add_caller(struct buf *b, const struct findings *f, const struct side *s)
{
    if (!location_is_system(s->location))
        return;
    for (size_t i = 1; i < s->stack.count; i++) {
        const struct frame *at = &s->stack.frames[i];

        if (!at->location || !at->function || location_is_system(at->location))
            continue;
        identity_add_file(b, f, at->location);
        add_field(b, at->function);
        return;
    }
}

/* What of a side is the same in every run: "x/util.c:worker" NUL "write counter" NUL. */
static struct buf side_key(const struct findings *f, const struct side *s)
{
    struct buf b = { 0 };
    const char *function = s->symbol ? s->symbol : s->function;

    if (function)
        identity_add_file(&b, f, s->location);
    add_field(&b, function ? function : s->location);
    add_caller(&b, f, s);
    buf_addstr(&b, s->op);
    if (s->variable)
        buf_addf(&b, " %s", s->variable);
    buf_addch(&b, 0);
    return b;
}

static int compare_keys(const struct buf *a, const struct buf *b)
{
    size_t n = a->len < b->len ? a->len : b->len;
    int c = memcmp(a->data, b->data, n);

    return c ? c : (a->len > b->len) - (a->len < b->len);
}

static uint64_t fingerprint(const struct findings *f, const struct finding *r)
{
    struct buf key[2] = { side_key(f, &r->sides[0]), side_key(f, &r->sides[1]) }, b = { 0 };
    unsigned low = compare_keys(&key[0], &key[1]) > 0;
    uint64_t hash;

    buf_add(&b, key[low].data, key[low].len);
    buf_add(&b, key[!low].data, key[!low].len);
    if (r->variable_key)
        add_field(&b, r->variable_key);
    hash = XXH64(b.data, b.len, 0);
    buf_release(&b);
    buf_release(&key[0]);
    buf_release(&key[1]);
    return hash;
}

static int compare_key_items(const void *a, const void *b)
{
    return compare_keys(a, b);
}

static uint64_t deadlock_fingerprint(const struct findings *f, const struct deadlock_finding *d)
{
    struct buf *keys = xcalloc(d->nwaiters + 1, sizeof(*keys)), b = { 0 };
    uint64_t hash;

    for (size_t i = 0; i < d->nwaiters; i++) {
        const struct waiter *w = &d->waiters[i];

        keys[i] = side_key(f, &w->request);
        add_field(&keys[i], w->lock_key ? w->lock_key : "");
    }
    qsort(keys, d->nwaiters, sizeof(*keys), compare_key_items);
    add_field(&b, "deadlock");
    for (size_t i = 0; i < d->nwaiters; i++) {
        buf_add(&b, keys[i].data, keys[i].len);
        buf_release(&keys[i]);
    }
    hash = XXH64(b.data, b.len, 0);
    buf_release(&b);
    free(keys);
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
        all[n++] = (struct named){ hash_of(f->races[i].id, fingerprint(f, &f->races[i])),
                                   &f->races[i].id, race_places(f, &f->races[i]) };
    for (size_t i = 0; i < f->ndeadlocks; i++)
        all[n++] =
            (struct named){ hash_of(f->deadlocks[i].id, deadlock_fingerprint(f, &f->deadlocks[i])),
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

void findings_list_ids(const struct findings *f, struct intern *ids)
{
    for (size_t i = 0; i < f->count + f->ndeadlocks; i++)
        intern_put(ids, findings_id(f, i), strlen(findings_id(f, i)));
}

bool findings_listed(const struct intern *ids, const char *id)
{
    return intern_find(ids, id, strlen(id)) != INTERN_NONE;
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

static size_t find_start(const struct findings *f, const char *what, struct error *err)
{
    size_t len = strlen(what), matches = 0, found = SIZE_MAX;

    for (size_t i = 0; len && i < f->count + f->ndeadlocks; i++)
        if (strncmp(findings_id(f, i), what, len) == 0) {
            found = i;
            matches++;
        }
    return matches == 1 ? found : not_found(f, what, matches, err);
}

/* An exact id wins over a number, a number over the start of an id. */
size_t findings_find_in(const struct findings *f, const struct intern *ids, const char *what,
                        struct error *err)
{
    uint32_t exact = intern_find(ids, what, strlen(what));
    size_t number = find_number(f, what);

    if (exact != INTERN_NONE)
        return exact;
    return number != SIZE_MAX ? number : find_start(f, what, err);
}

size_t findings_find(const struct findings *f, const char *what, struct error *err)
{
    struct intern ids = { 0 };
    size_t found;

    findings_list_ids(f, &ids);
    found = findings_find_in(f, &ids, what, err);
    intern_release(&ids);
    return found;
}
