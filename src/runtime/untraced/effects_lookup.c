/* effects_lookup.c - looking up what untraced functions may do; copies of their data
 * (effects_lookup.h)
 *
 * Asking the writer takes as long as reading the machine code of the images takes: once, some
 * milliseconds. If there is no answer within ASK_S seconds, calls may do anything.
 */
#include "runtime/untraced/effects_lookup.h"

#include "runtime/untraced/objects.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ASK_S = 10, SEEN_PAGE = 1 << 20, DIRECT_BYTES = 4096 };

struct set_state {
    bool told;
    uint32_t nextra;
    uint32_t extra[EFFECTS_EXTRA];
};

struct effects {
    const struct effects_table *table;
    const struct effects_image *images;
    const struct effects_function *functions;
    const struct effects_name *names;
    const struct effects_set *all_sets;
    const uint32_t *members;
    const struct effects_piece *pieces;
    struct piece_state *states;
    struct set_state *sets;
    uint64_t *slots; /* of each member, its piece's address */
    uint32_t generation;
};

static struct effects *current;
static uint32_t generation = 1; /* images logged */
static uint32_t refused;        /* the generation for which there was no answer */
static uint32_t ask_lock;

void effects_new_image(void)
{
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
}

void effects_forget(void)
{
    current = NULL;
    refused = 0;
    ask_lock = 0;
}

/* ---- memory ---- */

static void *pages(uint64_t bytes)
{
    void *m = (void *)syscall(SYS_mmap, NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L);

    return m == MAP_FAILED ? NULL : m;
}

/* Under reach_lock. Never given back. */
uint64_t *effects_new_copy(uint64_t bytes)
{
    static char *free_at;
    static uint64_t left;
    uint64_t *copy;

    bytes = (bytes + 7) & ~UINT64_C(7);
    if (bytes > left) {
        uint64_t size = bytes > SEEN_PAGE ? bytes : SEEN_PAGE;

        free_at = pages(size);
        left = free_at ? size : 0;
        if (!free_at)
            return NULL;
    }
    copy = (uint64_t *)free_at;
    free_at += bytes;
    left -= bytes;
    return copy;
}

/* ---- the table ---- */

static const void *take(const char **at, uint64_t n, uint64_t bytes)
{
    const void *array = *at;

    *at += (n * bytes + 7) & ~UINT64_C(7);
    return array;
}

static struct effects *new_table(uint64_t offset, uint32_t number)
{
    struct effects *e = pages(sizeof(*e));
    const char *at = rt.ring_base + offset;
    const struct effects_table *t = (const void *)at;

    if (!e)
        return NULL;
    at += sizeof(*t);
    e->table = t;
    e->images = take(&at, t->nimages, sizeof(*e->images));
    e->functions = take(&at, t->nfunctions, sizeof(*e->functions));
    e->names = take(&at, t->nnames, sizeof(*e->names));
    e->all_sets = take(&at, t->nsets, sizeof(*e->all_sets));
    e->members = take(&at, t->nmembers, sizeof(*e->members));
    e->pieces = take(&at, t->npieces, sizeof(*e->pieces));
    e->states = pages(t->npieces * sizeof(*e->states));
    e->sets = pages(t->nsets * sizeof(*e->sets));
    e->slots = pages(t->nmembers * sizeof(*e->slots));
    e->generation = number;
    if (!e->states || !e->sets || !e->slots)
        return NULL;
    for (uint32_t i = 0; i < t->nmembers; i++)
        e->slots[i] = e->pieces[e->members[i]].low;
    for (uint32_t i = 0; i < t->npieces; i++)
        e->states[i].stays = e->pieces[i].high - e->pieces[i].low < DIRECT_BYTES &&
                             images_stay((uintptr_t)e->pieces[i].low);
    return e;
}

static void ask(uint32_t number)
{
    uint64_t offset;
    struct effects *e;

    rt_busy_begin();
    spin_lock(&ask_lock);
    if (!(current && current->generation >= number) && refused < number) {
        e = NULL;
        if (ring_ask_effects(number, ASK_S * 10) &&
            (offset = __atomic_load_n(&rt.ring->effects_at, __ATOMIC_ACQUIRE)))
            e = new_table(offset, number);
        if (e)
            __atomic_store_n(&current, e, __ATOMIC_RELEASE);
        else
            __atomic_store_n(&refused, number, __ATOMIC_RELAXED);
    }
    spin_unlock(&ask_lock);
    rt_busy_end();
}

static const struct effects *table_now(void)
{
    uint32_t number = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    const struct effects *e = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

    if (likely(e && e->generation >= number) ||
        __atomic_load_n(&refused, __ATOMIC_RELAXED) >= number)
        return e;
    ask(number);
    return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

/* ---- functions ---- */

/* The first of sorted elements that is not below; they begin with what they are sorted by. */
static uint32_t lower(const void *array, uint32_t n, size_t bytes, uint64_t value)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (*(const uint64_t *)((const char *)array + middle * bytes) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct callee of_set(const struct effects *e, uint32_t set)
{
    const struct effects_set *s = &e->all_sets[set];

    return (struct callee){ e, s->does, set, s->count };
}

static const struct callee anything = { NULL, EFFECTS_ALL, 0, 0 };

static struct callee find_name(const struct effects *e, const char *name)
{
    uint64_t hash = effects_hash(name);
    uint32_t i = lower(e->names, e->table->nnames, sizeof(*e->names), hash);

    struct callee c = anything;

    for (; i < e->table->nnames && e->names[i].hash == hash; i++) {
        c = of_set(e, e->names[i].set);
        if (!(c.does & EFFECTS_TRACED))
            return c;
    }
    return c;
}

static const struct effects_image *in_image(const struct effects *e, uintptr_t a)
{
    for (uint32_t i = 0; i < e->table->nimages; i++)
        if (a - e->images[i].low < e->images[i].high - e->images[i].low)
            return &e->images[i];
    return NULL;
}

static struct callee find_function(const struct effects *e, uintptr_t f)
{
    uint32_t i = lower(e->functions, e->table->nfunctions, sizeof(*e->functions), f);
    const struct effects_image *image;

    if (i < e->table->nfunctions && e->functions[i].address == f)
        return of_set(e, e->functions[i].set);
    image = in_image(e, f);
    return image ? of_set(e, image->set) : anything;
}

/* Remembered by each thread, by the address of the name or of the function. */
static struct callee_seen *seen_at(uint64_t key)
{
    return &tls.self->callees[key * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static bool is_seen(const struct effects *e, const struct callee_seen *s, uint64_t key)
{
    return s->key == key && s->table == e;
}

static void remember(struct callee_seen *s, const struct effects *e, uint64_t key,
                     const struct callee *c)
{
    *s = (struct callee_seen){ key, e, c->table ? c->set : UINT32_MAX };
}

static struct callee remembered(const struct effects *e, const struct callee_seen *s)
{
    return s->set == UINT32_MAX ? anything : of_set(e, s->set);
}

struct callee effects_named(const char *name)
{
    const struct effects *e = table_now();
    struct callee_seen *s = seen_at((uintptr_t)name);
    struct callee c;

    if (!e)
        return anything;
    if (likely(is_seen(e, s, (uintptr_t)name)))
        return remembered(e, s);
    c = find_name(e, name);
    remember(s, e, (uintptr_t)name, &c);
    return c;
}

struct callee effects_at(uintptr_t function)
{
    const struct effects *e = table_now();
    struct callee_seen *s = seen_at(function);
    uintptr_t called = function;
    struct callee c;

    if (!e)
        return anything;
    if (likely(is_seen(e, s, called)))
        return remembered(e, s);
    function = statics_behind_plt(function);
    if (!images_known(function)) { /* it came by dlopen() */
        rt_images_update();
        e = table_now();
    }
    c = find_function(e, function);
    remember(s, e, called, &c);
    return c;
}

/* ---- pieces ---- */

uint32_t effects_number(const struct effects *e, uintptr_t a)
{
    uint32_t low = 0, high = e->table->npieces;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (e->pieces[middle].high <= a)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->table->npieces && e->pieces[low].low <= a ? low : UINT32_MAX;
}

bool effects_find(uintptr_t a, uintptr_t *low, uintptr_t *high)
{
    const struct effects *e = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    uint32_t i = e ? effects_number(e, a) : UINT32_MAX;

    if (i == UINT32_MAX)
        return false;
    *low = e->pieces[i].low;
    *high = e->pieces[i].high;
    return true;
}

struct piece_state *effects_piece(const struct effects *e, uint32_t piece, uintptr_t *low,
                                  uintptr_t *high)
{
    *low = e->pieces[piece].low;
    *high = e->pieces[piece].high;
    return &e->states[piece];
}

/* ---- sets ---- */

uint32_t effects_members(const struct callee *c)
{
    return c->table && (c->count || c->table->sets[c->set].nextra)
               ? c->count + c->table->sets[c->set].nextra
               : 0;
}

uint32_t effects_member(const struct callee *c, uint32_t i)
{
    return i < c->count ? c->table->members[c->table->all_sets[c->set].first + i]
                        : c->table->sets[c->set].extra[i - c->count];
}

bool effects_add_member(const struct callee *c, uint32_t piece)
{
    struct set_state *s = &c->table->sets[c->set];

    for (uint32_t i = 0, n = effects_members(c); i < n; i++)
        if (effects_member(c, i) == piece)
            return true;
    if (s->nextra == EFFECTS_EXTRA)
        return false;
    s->extra[s->nextra] = piece;
    __atomic_store_n(&s->nextra, s->nextra + 1, __ATOMIC_RELEASE);
    return true;
}

const uint64_t *effects_slots(const struct callee *c, bool **told)
{
    *told = &c->table->sets[c->set].told;
    return &c->table->slots[c->table->all_sets[c->set].first];
}

bool effects_are_known(const struct callee *c)
{
    uint32_t n = effects_members(c);

    if (n && !__atomic_load_n(&c->table->sets[c->set].told, __ATOMIC_ACQUIRE))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t low, high;
        const struct piece_state *s = effects_piece(c->table, effects_member(c, i), &low, &high);

        if (!s->copy || !s->stays || memcmp(s->copy, piece_words(low), 8 * piece_count(low, high)))
            return false;
    }
    return true;
}
