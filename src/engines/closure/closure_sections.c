/* closure_sections.c - who held which lock when
 *
 * A thread's sections follow from its own events, as the checker replays them
 * (docs/design/proof.md, "Locks"): a release ends a section of its own thread
 * on that lock, of the kind it names or else of the other kind; the thread's
 * end and its join end all that are left. What check_trace.c thinks of the other
 * threads (EV_FOREIGN) does not matter here.
 */
#include "engines/closure/closure_inside.h"
#include "base/map.h"

#include <stdlib.h>

void sections_free(struct closure *c)
{
    free(c->sections);
    free(c->helds);
    free(c->holding);
    free(c->last_on);
    free(c->entries);
    free(c->runs);
    free(c->lock_runs);
}

void sections_begin_span(struct closure *c, const struct span *span)
{
    GROW(c->holding, c->holding_cap, span->threads);
    GROW(c->last_on, c->last_on_cap, span->objects);
}

/* ---- lists of held sections ---- */

static uint32_t closure_sections_push(struct closure *c, uint32_t section, uint32_t next)
{
    if (!c->nhelds)
        c->nhelds = 1;
    GROW(c->helds, c->helds_cap, c->nhelds + 1);
    c->helds[c->nhelds] = (struct held){ section, next };
    return (uint32_t)c->nhelds++;
}

/* The list without one of its sections; what stands before that is copied. */
static uint32_t without(struct closure *c, uint32_t list, uint32_t section)
{
    struct held h = c->helds[list];

    if (h.section == section)
        return h.next;
    return closure_sections_push(c, h.section, without(c, h.next, section));
}

static uint32_t find_held(const struct closure *c, uint32_t thread, uint32_t lock, bool shared)
{
    for (uint32_t i = c->holding[thread]; i; i = c->helds[i].next) {
        const struct section *s = &c->sections[c->helds[i].section];

        if (s->lock == lock && s->shared == shared)
            return c->helds[i].section;
    }
    return SECTION_NONE;
}

/* ---- steps ---- */

static void new_section(struct closure *c, const struct hb_thread *t, const struct step *s)
{
    uint32_t id = (uint32_t)c->nsections, *last = &c->last_on[s->id];
    struct slot_history *h = slot_history(c, t->clock.slot);

    GROW(c->sections, c->sections_cap, c->nsections + 1);
    c->nsections++;
    c->holding[s->thread] = closure_sections_push(c, id, c->holding[s->thread]);
    c->sections[id] = (struct section){ .lock = s->id,
                                        .slot = t->clock.slot,
                                        .acquire = t->clock.time,
                                        .next = SECTION_NONE,
                                        .held = c->holding[s->thread],
                                        .shared = s->op == OP_ACQUIRE_SHARED,
                                        .release = CLOCK_EMPTY };
    if (*last)
        c->sections[*last - 1].next = id;
    *last = id + 1;
    GROW(h->acquires, h->acquires_cap, h->nacquires + 1);
    h->acquires[h->nacquires++] = (struct entry){ t->clock.time, id };
}

static void tell_request(struct closure *c, const struct hb_thread *t, const struct step *s)
{
    struct closure_past past = { t->clock, s->position, t->version };

    if (c->hooks.acquire)
        c->hooks.acquire(c->hooks.arg, s, &past);
}

static void closure_sections_acquire(struct closure *c, struct hb_thread *t, const struct step *s)
{
    bool shared = s->op == OP_ACQUIRE_SHARED;

    tell_request(c, t, s);
    if (c->keeps_sections && find_held(c, s->thread, s->id, shared) == SECTION_NONE)
        new_section(c, t, s);
    t->clock.time++;
}

static void closure_sections_release(struct closure *c, struct hb_thread *t, const struct step *s)
{
    bool shared = s->op == OP_RELEASE_SHARED;
    uint32_t id = SECTION_NONE;

    if (c->keeps_sections) {
        id = find_held(c, s->thread, s->id, shared);
        if (id == SECTION_NONE)
            id = find_held(c, s->thread, s->id, !shared);
    }
    if (id != SECTION_NONE) {
        clock_copy(&c->hb.pool, &c->sections[id].release, &t->clock);
        c->holding[s->thread] = without(c, c->holding[s->thread], id);
    }
    if (c->hooks.release)
        c->hooks.release(c->hooks.arg, s);
    t->clock.time++;
}

/* The thread is over: its sections end with what it did last. */
static void end_all(struct closure *c, uint32_t thread)
{
    for (uint32_t i = c->holding[thread]; i; i = c->helds[i].next)
        clock_copy(&c->hb.pool, &c->sections[c->helds[i].section].release,
                   &hb_thread(&c->hb, thread)->clock);
    c->holding[thread] = 0;
    if (c->hooks.over)
        c->hooks.over(c->hooks.arg, thread);
}

void sections_step(struct closure *c, const struct step *s)
{
    struct hb_thread *t = hb_thread(&c->hb, s->thread);

    switch (s->op) {
    case OP_ACQUIRE:
    case OP_ACQUIRE_SHARED:
        if (!(s->flags & STEP_NESTED))
            closure_sections_acquire(c, t, s);
        break;
    case OP_RELEASE:
    case OP_RELEASE_SHARED:
        if (!(s->flags & STEP_NESTED))
            closure_sections_release(c, t, s);
        break;
    case OP_REQUEST:
    case OP_REQUEST_SHARED:
        tell_request(c, t, s);
        t->clock.time++;
        break;
    case OP_END:
        end_all(c, s->thread);
        t->clock.time++;
        break;
    case OP_JOIN: /* hb_before() ends the segment */
        end_all(c, s->id);
        break;
    default:
        break;
    }
}

/* ---- the index by lock ---- */

/* Sections of one run have the same key. */
static uint64_t run_key(const struct section *s)
{
    return (uint64_t)s->lock << 33 | (uint64_t)s->slot << 1 | s->shared;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The keys of all runs, sorted. */
static uint64_t *list_keys(struct closure *c)
{
    struct map seen = { 0 };
    uint64_t *keys = NULL;
    size_t cap = 0;

    for (size_t i = 0; i < c->nsections; i++) {
        uint64_t key = run_key(&c->sections[i]);

        if (*map_put(&seen, key, (uint32_t)c->nruns) != c->nruns)
            continue;
        GROW(keys, cap, c->nruns + 1);
        keys[c->nruns++] = key;
    }
    if (c->nruns)
        qsort(keys, c->nruns, sizeof(*keys), compare_keys);
    map_release(&seen);
    return keys;
}

/* Runs sorted by lock and slot, still empty; `number` tells them by key. */
static void make_runs(struct closure *c, struct map *number)
{
    uint64_t *keys = list_keys(c);

    c->nlocks = c->last_on_cap;
    c->lock_runs = xcalloc(c->nlocks + 1, sizeof(*c->lock_runs));
    c->runs = xcalloc(c->nruns + 1, sizeof(*c->runs));
    for (size_t r = 0; r < c->nruns; r++) {
        c->runs[r] = (struct run){ .slot = (uint32_t)(keys[r] >> 1), .shared = keys[r] & 1 };
        c->lock_runs[(keys[r] >> 33) + 1]++;
        map_put(number, keys[r], (uint32_t)r);
    }
    for (size_t l = 0; l < c->nlocks; l++)
        c->lock_runs[l + 1] += c->lock_runs[l];
    free(keys);
}

void sections_seal(struct closure *c)
{
    uint32_t *of = xmalloc((c->nsections + 1) * sizeof(*of)), first = 0;
    struct map number = { 0 };

    make_runs(c, &number);
    for (size_t i = 0; i < c->nsections; i++) {
        of[i] = *map_get(&number, run_key(&c->sections[i]));
        c->runs[of[i]].count++;
    }
    for (size_t r = 0; r < c->nruns; r++) {
        c->runs[r].first = first;
        first += c->runs[r].count;
        c->runs[r].count = 0;
    }
    c->entries = xmalloc((c->nsections + 1) * sizeof(*c->entries));
    for (size_t i = 0; i < c->nsections; i++) {
        struct run *r = &c->runs[of[i]];

        c->entries[r->first + r->count++] = (struct entry){ c->sections[i].acquire, (uint32_t)i };
    }
    map_release(&number);
    free(of);
}
