/* lockset.c - conflicting accesses without a common lock
 *
 * In the manner of Eraser (Savage et al. 1997), but naming pairs: two
 * accesses of different threads that conflict while no lock protects both.
 * A lock protects a pair when both hold it and not both hold it shared. No
 * other order counts, so this contains every race of every other engine that
 * keeps to locks, and false alarms with them: `potential`.
 *
 * Lock sets are interned: a thread's set is a number, taking or dropping a
 * lock is a look-up, and "have they a lock in common" is answered once for
 * each pair of numbers. A variable has a group for each different (lock set,
 * kind of access), a group a record for each site; the first thread of a
 * record is remembered and whether there were others.
 * Cost: a look-up among the groups and sites of the variable; a record that is new, or sees its
 * second thread, is compared with the records of the groups it conflicts with, a few nanoseconds
 * each. That is quadratic in the sites per variable, as is the number of pairs; it stops at
 * RACES_MAX pairs.
 */
#include "engines/engine.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A held lock: object * 2 + shared. Sets are sorted. */
struct set {
    uint32_t *locks;
    uint32_t count;
};

struct record {
    struct access access; /* the first of its kind */
    struct access other;  /* the first by another thread, where several is set */
    uint32_t thread;
    bool several;
};

/* Records of one variable with the same lock set and kind of access. */
struct group {
    uint32_t set;
    uint8_t kind;
    struct record *records;
    size_t count, cap;
    struct map *index; /* site -> record, above INDEXED_ABOVE */
};

struct variable {
    struct group *groups;
    size_t count, cap;
    struct map *index; /* set and kind -> group, above INDEXED_ABOVE */
    bool repeatable;   /* the last access is known: */
    uint8_t last_kind;
    uint32_t last_set, last_site, last_thread;
};

/* A few are found faster by looking at each. */
enum { INDEXED_ABOVE = 16 };

/* A block of memory that was freed: the write its untouched variables start with. */
struct freed {
    bool is;
    struct access access;
    uint32_t thread, set;
};

/* Site pairs already reported, a bit each, while there are few enough sites for a square. */
enum { SEEN_SITES = 8192 };

enum { KIND_WRITE = 1, KIND_ATOMIC = 2 };

struct thread_locks {
    uint32_t set;   /* number of the set held */
    uint32_t *held; /* sorted like a set's */
    size_t count, cap;
};

struct lockset {
    struct engine_result *result;

    struct set *sets; /* [0] is the empty set */
    size_t nsets, sets_cap;
    struct map set_index; /* hash of a set -> its number; chained by probing the hash */
    struct map disjoint;  /* pair of set numbers -> 0 or 1 */

    struct thread_locks *threads;
    size_t threads_cap;

    struct variable *vars;
    size_t vars_cap;
    struct freed *blocks;
    size_t blocks_cap;
    uint64_t records;           /* ever made */
    uint64_t *seen[SEEN_SITES]; /* rows of the square, made when needed */
};

static void *lockset_open(struct engine_result *result, const struct engine_options *options)
{
    (void)options;
    struct lockset *l = xcalloc(1, sizeof(*l));

    l->result = result;
    GROW(l->sets, l->sets_cap, 1);
    l->nsets = 1;
    return l;
}

static void drop_index(struct map *index)
{
    if (index)
        map_release(index);
    free(index);
}

static void lockset_forget(struct variable *v)
{
    for (size_t i = 0; i < v->count; i++) {
        free(v->groups[i].records);
        drop_index(v->groups[i].index);
    }
    drop_index(v->index);
    free(v->groups);
    *v = (struct variable){ 0 };
}

static void lockset_close(void *state)
{
    struct lockset *l = state;

    for (size_t i = 0; i < l->nsets; i++)
        free(l->sets[i].locks);
    for (size_t i = 0; i < l->threads_cap; i++)
        free(l->threads[i].held);
    for (size_t i = 0; i < l->vars_cap; i++)
        lockset_forget(&l->vars[i]);
    for (size_t i = 0; i < SEEN_SITES; i++)
        free(l->seen[i]);
    free(l->sets);
    free(l->threads);
    free(l->vars);
    free(l->blocks);
    map_release(&l->set_index);
    map_release(&l->disjoint);
    free(l);
}

/* ---- sets ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint32_t intern_set(struct lockset *l, const uint32_t *locks, uint32_t count)
{
    uint64_t hash = count;

    if (!count)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        hash = mix(hash, locks[i]);
    for (;; hash++) {
        uint32_t *number = map_put(&l->set_index, hash, UINT32_MAX);
        struct set *s;

        if (*number != UINT32_MAX) {
            s = &l->sets[*number];
            if (s->count == count && !memcmp(s->locks, locks, count * sizeof(*locks)))
                return *number;
            continue; /* another set with the same hash: look one further */
        }
        *number = (uint32_t)l->nsets;
        GROW(l->sets, l->sets_cap, l->nsets + 1);
        s = &l->sets[l->nsets++];
        s->locks = xmalloc(count * sizeof(*locks));
        memcpy(s->locks, locks, count * sizeof(*locks));
        s->count = count;
        return *number;
    }
}

static bool compute_disjoint(const struct set *a, const struct set *b)
{
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        uint32_t x = a->locks[i] / 2, y = b->locks[j] / 2;

        if (x < y)
            i++;
        else if (y < x)
            j++;
        else if ((a->locks[i] & 1) && (b->locks[j] & 1))
            i++, j++;
        else
            return false;
    }
    return true;
}

static bool sets_disjoint(struct lockset *l, uint32_t a, uint32_t b)
{
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    uint32_t *answer;

    if (!a || !b)
        return true;
    answer = map_put(&l->disjoint, key, UINT32_MAX);
    if (*answer == UINT32_MAX)
        *answer = compute_disjoint(&l->sets[a], &l->sets[b]);
    return *answer;
}

/* ---- locks held ---- */

static size_t held_place(const struct thread_locks *t, uint32_t lock)
{
    size_t i = 0;

    while (i < t->count && t->held[i] < lock)
        i++;
    return i;
}

static void lockset_take(struct lockset *l, struct thread_locks *t, uint32_t lock)
{
    size_t i = held_place(t, lock);

    if (i < t->count && t->held[i] == lock)
        return;
    GROW(t->held, t->cap, t->count + 1);
    memmove(&t->held[i + 1], &t->held[i], (t->count - i) * sizeof(*t->held));
    t->held[i] = lock;
    t->count++;
    t->set = intern_set(l, t->held, (uint32_t)t->count);
}

static void lockset_drop(struct lockset *l, struct thread_locks *t, uint32_t lock)
{
    size_t i = held_place(t, lock);

    if (i == t->count || t->held[i] != lock)
        return;
    t->count--;
    memmove(&t->held[i], &t->held[i + 1], (t->count - i) * sizeof(*t->held));
    t->set = intern_set(l, t->held, (uint32_t)t->count);
}

static void lock_step(struct lockset *l, const struct step *s)
{
    struct thread_locks *t = &l->threads[s->thread];

    if (s->flags & STEP_NESTED)
        return;
    if (s->op == OP_ACQUIRE)
        lockset_take(l, t, s->id * 2);
    else if (s->op == OP_ACQUIRE_SHARED)
        lockset_take(l, t, s->id * 2 + 1);
    else if (s->op == OP_RELEASE)
        lockset_drop(l, t, s->id * 2);
    else if (s->op == OP_RELEASE_SHARED)
        lockset_drop(l, t, s->id * 2 + 1);
}

/* ---- accesses ---- */

static uint8_t lockset_kind_of(uint8_t op)
{
    return (uint8_t)((op_table[op].writes ? KIND_WRITE : 0) | (op_is_atomic(op) ? KIND_ATOMIC : 0));
}

static bool lockset_conflict(uint8_t a, uint8_t b)
{
    return ((a | b) & KIND_WRITE) && !(a & b & KIND_ATOMIC);
}

/* Was the pair reported before? Says yes only where it is cheap to know. */
static bool pair_seen(struct lockset *l, uint32_t a, uint32_t b)
{
    uint64_t *word, bit = (uint64_t)1 << b % 64;

    if (a >= SEEN_SITES || b >= SEEN_SITES)
        return false;
    if (!l->seen[a])
        l->seen[a] = xcalloc(SEEN_SITES / 64, sizeof(**l->seen));
    word = &l->seen[a][b / 64];
    if (*word & bit)
        return true;
    *word |= bit;
    return false;
}

static void compare_group(struct lockset *l, const struct group *g, const struct step *s)
{
    struct access later = { s->position, s->site };

    for (size_t i = 0; i < g->count; i++) {
        const struct record *r = &g->records[i];

        if (r->thread == s->thread && !r->several)
            continue;
        if (!pair_seen(l, s->site, r->access.site))
            race_table_add(&l->result->races, r->thread != s->thread ? r->access : r->other, later,
                           STRENGTH_POTENTIAL);
    }
}

/* Compare an access by a thread that is new to its record with all it may conflict with. */
static void lockset_compare(struct lockset *l, const struct variable *v, const struct step *s,
                            uint32_t set, uint8_t kind)
{
    if (l->result->races.dropped)
        return;
    for (size_t i = 0; i < v->count; i++)
        if (lockset_conflict(kind, v->groups[i].kind) && sets_disjoint(l, set, v->groups[i].set))
            compare_group(l, &v->groups[i], s);
}

/* Number `count` under `key`; the index is made once there are many. */
static void index_add(struct map **index, size_t count, uint64_t key)
{
    if (!*index && count == INDEXED_ABOVE)
        *index = xcalloc(1, sizeof(**index));
    if (*index)
        map_put(*index, key, (uint32_t)count);
}

static uint64_t group_key(uint32_t set, uint8_t kind)
{
    return (uint64_t)set << 2 | kind;
}

/* The number of the group, or of the place where it would be. */
static size_t group_number(const struct variable *v, uint32_t set, uint8_t kind)
{
    uint32_t *number;

    for (size_t i = 0; i < v->count && i < INDEXED_ABOVE; i++)
        if (v->groups[i].set == set && v->groups[i].kind == kind)
            return i;
    number = v->index ? map_get(v->index, group_key(set, kind)) : NULL;
    return number ? *number : v->count;
}

static struct group *find_group(struct variable *v, uint32_t set, uint8_t kind)
{
    size_t i = group_number(v, set, kind);

    if (i == v->count) {
        GROW(v->groups, v->cap, v->count + 1);
        v->groups[i] = (struct group){ .set = set, .kind = kind };
        index_add(&v->index, i, group_key(set, kind));
        v->count++;
    }
    return &v->groups[i];
}

/* The record of a site in a group, or NULL. */
static struct record *find_record(const struct group *g, uint32_t site)
{
    uint32_t *number;

    for (size_t i = 0; i < g->count && i < INDEXED_ABOVE; i++)
        if (g->records[i].access.site == site)
            return &g->records[i];
    number = g->index ? map_get(g->index, site) : NULL;
    return number ? &g->records[*number] : NULL;
}

static void add_record(struct lockset *l, struct group *g, struct record r)
{
    GROW(g->records, g->cap, g->count + 1);
    g->records[g->count] = r;
    index_add(&g->index, g->count, r.access.site);
    g->count++;
    l->records++;
}

/* The same thread comes by again in the same way: nothing new. */
static bool repeats(struct variable *v, const struct step *s, uint32_t set, uint8_t kind)
{
    if (v->repeatable && v->last_set == set && v->last_site == s->site &&
        v->last_thread == s->thread && v->last_kind == kind)
        return true;
    v->repeatable = true;
    v->last_set = set;
    v->last_site = s->site;
    v->last_thread = s->thread;
    v->last_kind = kind;
    return false;
}

static void access_step(struct lockset *l, const struct step *s)
{
    struct variable *v = &l->vars[s->id];
    uint32_t set = l->threads[s->thread].set;
    uint8_t kind = lockset_kind_of(s->op);
    struct access access = { s->position, s->site };
    struct group *g;
    struct record *r;

    if (repeats(v, s, set, kind))
        return;
    g = find_group(v, set, kind);
    r = find_record(g, s->site);
    if (!r) {
        lockset_compare(l, v, s, set, kind);
        add_record(l, g, (struct record){ .access = access, .thread = s->thread });
    } else if (r->thread != s->thread && !r->several) {
        lockset_compare(l, v, s, set, kind);
        r->several = true;
        r->other = access;
    }
}

/* A part of a variable starts with copies of the whole's records. */
static void lockset_split(struct lockset *l, struct variable *from, struct variable *to)
{
    lockset_forget(to);
    for (size_t i = 0; i < from->count; i++) {
        struct group *g = find_group(to, from->groups[i].set, from->groups[i].kind);

        for (size_t k = 0; k < from->groups[i].count; k++)
            add_record(l, g, from->groups[i].records[k]);
    }
}

/* ---- lifetimes ---- */

static void block_step(struct lockset *l, const struct step *s)
{
    GROW(l->blocks, l->blocks_cap, (size_t)s->id + 1);
    l->blocks[s->id] = (struct freed){ .is = s->op == OP_FREE,
                                       .access = { s->position, s->site },
                                       .thread = s->thread,
                                       .set = l->threads[s->thread].set };
}

/* The first access to a variable; its memory may have been freed before. */
static void lockset_begin(struct lockset *l, const struct step *s)
{
    struct variable *v = &l->vars[s->id];
    const struct freed *f = s->from && s->from <= l->blocks_cap ? &l->blocks[s->from - 1] : NULL;

    lockset_forget(v);
    if (f && f->is)
        add_record(l, find_group(v, f->set, KIND_WRITE),
                   (struct record){ .access = f->access, .thread = f->thread });
}

static void lockset_steps(void *state, const struct span *span)
{
    struct lockset *l = state;

    GROW(l->threads, l->threads_cap, span->threads);
    GROW(l->vars, l->vars_cap, span->variables);
    for (size_t i = 0; i < span->count; i++) {
        const struct step *s = &span->steps[i];

        if (op_is_access(s->op)) {
            if (s->flags & STEP_FRESH)
                lockset_begin(l, s);
            access_step(l, s);
        } else if (s->op == OP_SPLIT) {
            lockset_split(l, &l->vars[s->from], &l->vars[s->id]);
        } else if (s->op >= OP_ACQUIRE && s->op <= OP_RELEASE_SHARED) {
            lock_step(l, s);
        } else if (s->op == OP_ALLOC || s->op == OP_FREE) {
            block_step(l, s);
        }
    }
}

static void lockset_finish(void *state)
{
    struct lockset *l = state;

    engine_count(l->result, "lock_sets", l->nsets);
    engine_count(l->result, "records", l->records);
}

const struct engine engine_lockset = {
    .name = "lockset",
    .summary = "conflicting accesses without a common lock: an over-approximation",
    .proves = STRENGTH_POTENTIAL,
    .sees_all = true,
    .on_request = true,
    .open = lockset_open,
    .steps = lockset_steps,
    .finish = lockset_finish,
    .close = lockset_close,
};
