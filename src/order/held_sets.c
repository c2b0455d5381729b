/* held_sets.c - the sets of locks that threads hold, as numbers
 *
 * Sections are a thread's own affair, as in closure_sections.c: taking what it
 * holds already changes nothing, a release drops the kind it names or else
 * the other one.
 * A set has HELD_MAX locks at most: each is kept whole, so a thread that nests a hundred thousand
 * would take 20 GB. What is left out protects nothing here; such a pair is refused by its closure,
 * which knows all sections.
 */
#include "order/held_sets.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_MAX = 256 }; /* whoever holds more is a test of this number */

void held_sets_init(struct held_sets *h)
{
    *h = (struct held_sets){ 0 };
    GROW(h->sets, h->cap, 1);
    h->count = 1;
}

void held_sets_release(struct held_sets *h)
{
    for (size_t i = 0; i < h->count; i++)
        free(h->sets[i].locks);
    free(h->sets);
    free(h->threads);
    map_release(&h->index);
    map_release(&h->moves);
    map_release(&h->common);
    *h = (struct held_sets){ 0 };
}

/* ---- sets ---- */

static uint64_t hash_locks(const uint32_t *locks, uint32_t count)
{
    uint64_t hash = count;

    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ locks[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static uint32_t new_set(struct held_sets *h, const uint32_t *locks, uint32_t count)
{
    struct held_set set = { xmalloc(count * sizeof(*locks)), count };

    memcpy(set.locks, locks, count * sizeof(*locks));
    GROW(h->sets, h->cap, h->count + 1);
    h->sets[h->count] = set;
    return (uint32_t)h->count++;
}

static uint32_t intern(struct held_sets *h, const uint32_t *locks, uint32_t count)
{
    uint64_t hash = hash_locks(locks, count);

    if (!count)
        return 0;
    for (;; hash++) {
        uint32_t *number = map_put(&h->index, hash, UINT32_MAX);
        const struct held_set *s = &h->sets[*number == UINT32_MAX ? 0 : *number];

        if (*number == UINT32_MAX)
            return *number = new_set(h, locks, count);
        if (s->count == count && !memcmp(s->locks, locks, count * sizeof(*locks)))
            return *number;
    }
}

static uint32_t held_sets_place_of(const struct held_set *s, uint32_t lock)
{
    uint32_t i = 0;

    while (i < s->count && s->locks[i] < lock)
        i++;
    return i;
}

static bool has(const struct held_set *s, uint32_t lock)
{
    uint32_t i = held_sets_place_of(s, lock);

    return i < s->count && s->locks[i] == lock;
}

/* The set with the lock where it lacked it, without it where it had it. */
static uint32_t toggle(struct held_sets *h, uint32_t set, uint32_t lock)
{
    const struct held_set *s = &h->sets[set];
    uint32_t n = s->count, i = held_sets_place_of(s, lock), result;
    uint32_t *locks = xmalloc((n + 1) * sizeof(*locks));

    if (n)
        memcpy(locks, s->locks, n * sizeof(*locks));
    if (has(s, lock)) {
        memmove(&locks[i], &locks[i + 1], (n - i - 1) * sizeof(*locks));
        result = intern(h, locks, n - 1);
    } else {
        memmove(&locks[i + 1], &locks[i], (n - i) * sizeof(*locks));
        locks[i] = lock;
        result = intern(h, locks, n + 1);
    }
    free(locks);
    return result;
}

static uint32_t toggled(struct held_sets *h, uint32_t set, uint32_t lock)
{
    uint64_t key = (uint64_t)set << 32 | lock;
    const uint32_t *known = map_get(&h->moves, key);
    uint32_t result;

    if (known)
        return *known;
    result = toggle(h, set, lock);
    map_put(&h->moves, key, result);
    return result;
}

static uint32_t intersect(struct held_sets *h, uint32_t a, uint32_t b)
{
    const struct held_set *x = &h->sets[a], *y = &h->sets[b];
    uint32_t *locks = xmalloc((x->count + 1) * sizeof(*locks)), n = 0, result;

    for (uint32_t i = 0; i < x->count; i++)
        if (has(y, x->locks[i]))
            locks[n++] = x->locks[i];
    result = intern(h, locks, n);
    free(locks);
    return result;
}

uint32_t held_sets_common(struct held_sets *h, uint32_t a, uint32_t b)
{
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    const uint32_t *known;
    uint32_t result;

    if (a == b || !a || !b)
        return a == b ? a : 0;
    known = map_get(&h->common, key);
    if (known)
        return *known;
    result = intersect(h, a, b);
    map_put(&h->common, key, result);
    return result;
}

bool held_sets_meet(const struct held_sets *h, uint32_t a, uint32_t b)
{
    const struct held_set *x = &h->sets[a], *y = &h->sets[b];

    for (uint32_t i = 0, j = 0; i < x->count && j < y->count;) {
        uint32_t l = x->locks[i], m = y->locks[j];

        if (l / 2 == m / 2 && !(l & m & 1))
            return true;
        if (l < m)
            i++;
        else
            j++;
    }
    return false;
}

/* ---- threads ---- */

static struct held_thread *held_sets_thread_of(struct held_sets *h, uint32_t thread)
{
    GROW(h->threads, h->threads_cap, (size_t)thread + 1);
    return &h->threads[thread];
}

void held_sets_acquire(struct held_sets *h, const struct step *s)
{
    struct held_thread *t = held_sets_thread_of(h, s->thread);
    uint32_t lock = s->id * 2 + (s->op == OP_ACQUIRE_SHARED);

    t->changes = ++h->changes;
    if (!has(&h->sets[t->set], lock) && h->sets[t->set].count < HELD_MAX)
        t->set = toggled(h, t->set, lock);
}

void held_sets_release_lock(struct held_sets *h, const struct step *s)
{
    struct held_thread *t = held_sets_thread_of(h, s->thread);
    uint32_t lock = s->id * 2 + (s->op == OP_RELEASE_SHARED);

    t->changes = ++h->changes;
    if (!has(&h->sets[t->set], lock))
        lock ^= 1;
    if (has(&h->sets[t->set], lock))
        t->set = toggled(h, t->set, lock);
}

void held_sets_over(struct held_sets *h, uint32_t thread)
{
    struct held_thread *t = held_sets_thread_of(h, thread);

    t->changes = ++h->changes;
    t->set = 0;
}
