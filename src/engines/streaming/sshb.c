/* sshb.c - races that stay races whatever the reads have seen: phase 1
 *
 * Sulzmann and Stadtmueller, "Data Race Prediction for Inaccurate Traces", 2020,
 * Algorithm 1: the races of hb (pairs.c), and on the way the graph that says
 * which of them no choice of write-read dependencies can order. The graph's
 * edges are collected by sshb_facts.c (order) and sshb_reads.c (candidates),
 * judged by sshb_graph.c, and sshb_decide.c says the verdicts.
 *
 * Differences from the paper: every candidate of Definition 6 is found, also
 * for reads that are not the last of their thread; events, not sites, are
 * judged, so a pair of sites is guaranteed if one of its occurrences is
 * (Appendix D); atomics, frees and overlapping accesses as in pairs.c. The
 * order of atomics is exact like that of locks, so an atomic read has only one
 * atomic candidate, the last; plain ones as any read.
 */
#include "engines/streaming/sshb.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <time.h>

/* Where the memory of a variable was allocated, and the last slot that has the
 * edge from there. */
struct birth {
    uint32_t slot, time, position, told;
};

#define BIRTH_NONE ((struct birth){ SLOT_NONE, 0, 0, SLOT_NONE })

struct variable {
    struct accesses last;
    struct sshb_readers readers;
    struct sshb_racy *racy;          /* owned; NULL while all is ordered */
    uint32_t first_slot, first_time; /* of its first write; time 0: none yet */
    struct birth birth;
};

struct atomic_reads {
    struct sshb_readers readers;
    uint64_t last; /* position of the last atomic write */
};

static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void *sshb_open(struct engine_result *result, const struct engine_options *options)
{
    struct sshb *p = xcalloc(1, sizeof(*p));

    (void)options;
    p->result = result;
    hb_init(&p->hb);
    sshb_facts_init(&p->facts, &p->hb);
    sshb_reads_init(&p->reads, &p->facts);
    return p;
}

static void sshb_forget(struct sshb *p, struct variable *v)
{
    accesses_clear(&v->last, &p->atomics);
    sshb_readers_clear(&v->readers);
    sshb_racy_free(v->racy);
    v->racy = NULL;
    if (v->last.atomic)
        sshb_readers_clear(&p->atomic_reads[v->last.atomic].readers);
    v->first_time = 0;
    v->birth = BIRTH_NONE;
}

static void sshb_close(void *state)
{
    struct sshb *p = state;

    for (size_t i = 0; i < p->vars_cap; i++)
        sshb_forget(p, &p->vars[i]);
    free(p->vars);
    atomic_table_release(&p->atomics);
    free(p->atomic_reads);
    free(p->births);
    sshb_reads_release(&p->reads);
    sshb_facts_release(&p->facts);
    hb_release(&p->hb);
    free(p);
}

/* ---- comparing ---- */

static void race(struct sshb *p, const struct set_access *a, const struct hb_thread *t,
                 const struct step *s, enum sshb_kind kind)
{
    struct sshb_pair pair = { { (uint32_t)a->position, (uint32_t)s->position },
                              { a->slot, t->clock.slot },
                              { a->site, s->site },
                              (uint8_t)kind,
                              0 };

    race_table_add(&p->result->races, (struct access){ a->position, a->site },
                   (struct access){ s->position, s->site }, STRENGTH_MAYBE);
    if (!p->result->races.dropped)
        sshb_add_pair(&p->facts, &pair, &p->result->races);
}

static const struct access_set *atomic_writes(const struct sshb *p, const struct variable *v)
{
    static const struct access_set none;

    return v->last.atomic ? &p->atomics.rows[v->last.atomic].writes : &none;
}

static struct sshb_racy *racy(struct variable *v, const struct step *s)
{
    if (!v->racy)
        v->racy = sshb_racy_new(s->id);
    return v->racy;
}

/* Is there a later write of the same slot in the set? */
static bool has_later(const struct access_set *set, const struct set_access *write)
{
    const struct set_access *a = access_set_entries(set);

    for (uint32_t i = 0; i < set->count; i++)
        if (a[i].slot == write->slot && a[i].position > write->position)
            return true;
    return false;
}

/* A read may have seen this write. A plain one of those of one slot only the
 * last. */
static void may_see(struct sshb *p, struct variable *v, const struct set_access *write,
                    const struct hb_thread *t, const struct step *s, bool atomic)
{
    enum sshb_class class = SSHB_TO_PLAIN;

    if (op_is_atomic(s->op))
        class = atomic ? SSHB_ATOMIC_TO_ATOMIC : SSHB_PLAIN_TO_ATOMIC;
    else if (v->last.atomic &&
             (has_later(&v->last.writes, write) || has_later(atomic_writes(p, v), write)))
        return;
    sshb_unordered_write(&p->reads, racy(v, s), class, write, t, s->position);
}

/* What an access may do with the accesses of a set that it is not ordered with.
 */
enum { RACES = 1, SEES = 2, ATOMIC = 4 /* they are atomic */ };

/* How many are not ordered with the access? */
static inline uint32_t sshb_check(struct sshb *p, struct variable *v, const struct access_set *set,
                                  const struct hb_thread *t, const struct step *s, unsigned what,
                                  enum sshb_kind kind)
{
    const struct set_access *a = access_set_entries(set);
    uint32_t unordered = 0;

    if (__builtin_expect(access_set_is_full(set), 0)) {
        p->crowded++;
        p->facts.full = true; /* there may be writes that a read could have seen */
    }
    for (uint32_t i = 0; i < set->count; i++) {
        if (hb_knows(t, a[i].slot, a[i].time))
            continue;
        unordered++;
        if (what & SEES && !p->facts.full)
            may_see(p, v, &a[i], t, s, what & ATOMIC);
        if (what & RACES)
            race(p, &a[i], t, s, kind);
    }
    return unordered;
}

static const struct set_access *last_of(const struct access_set *set, const struct set_access *last)
{
    const struct set_access *a = access_set_entries(set);

    for (uint32_t i = 0; i < set->count; i++)
        if (!last || a[i].position > last->position)
            last = &a[i];
    return last;
}

/* An atomic read saw no other atomic write than the last (unless a plain one
 * came after it). */
static void saw_atomic(struct sshb *p, struct variable *v, const struct hb_thread *t,
                       const struct step *s)
{
    const struct set_access *last = last_of(atomic_writes(p, v), NULL);

    if (last && last->position == p->atomic_reads[v->last.atomic].last &&
        !hb_knows(t, last->slot, last->time))
        sshb_saw_atomic(&p->reads, racy(v, s), last, t, s->position);
}

/* The write that the recorded order says this read saw. */
static void observe(struct sshb *p, struct variable *v, const struct hb_thread *t,
                    const struct step *s)
{
    const struct access_set *atomics = atomic_writes(p, v);
    const struct set_access *last = last_of(atomics, last_of(&v->last.writes, NULL));
    size_t candidates = v->last.writes.count + atomics->count;

    if (v->last.atomic && op_is_atomic(s->op))
        saw_atomic(p, v, t, s);
    if (!hb_knows(t, last->slot, last->time))
        sshb_observed_write(&p->reads, racy(v, s), last, t, s->position,
                            candidates > 1 || hb_knows(t, v->first_slot, v->first_time));
}

static inline void count_candidates(struct sshb *p, const struct variable *v)
{
    uint64_t n = v->last.writes.count + atomic_writes(p, v)->count;

    p->reads.reads += n > 0;
    p->reads.candidates += n;
    if (n > p->reads.most)
        p->reads.most = n;
}

/* Earlier reads may have seen this write. */
static void may_be_seen(struct sshb *p, struct variable *v, const struct hb_thread *t,
                        const struct step *s)
{
    bool first = !v->first_time;

    sshb_look_at_certain(&p->reads, racy(v, s), t);
    sshb_unordered_reads(&p->reads, v->racy, SSHB_TO_PLAIN, &v->readers, t, s->position, first);
    if (v->last.atomic)
        sshb_unordered_reads(&p->reads, v->racy,
                             op_is_atomic(s->op) ? SSHB_ATOMIC_TO_ATOMIC : SSHB_PLAIN_TO_ATOMIC,
                             &p->atomic_reads[v->last.atomic].readers, t, s->position, first);
}

/* Whatever the access is not ordered with: races, and who may have seen whom.
 */
static inline void sshb_compare(struct sshb *p, struct variable *v, const struct hb_thread *t,
                                const struct step *s)
{
    bool writes = s->op != OP_READ && s->op != OP_LOAD, reads = op_table[s->op].reads;
    unsigned sees = reads ? SEES : 0, atomic = op_is_atomic(s->op) ? 0 : RACES;
    uint32_t unseen, unread = 0;

    unseen = sshb_check(p, v, &v->last.writes, t, s, RACES | sees,
                        writes ? SSHB_WRITE_WRITE : SSHB_WRITE_READ);
    if (writes)
        unread = sshb_check(p, v, &v->last.reads, t, s, RACES, SSHB_READ_WRITE);
    if (__builtin_expect(v->last.atomic, 0)) {
        unseen += sshb_check(p, v, atomic_writes(p, v), t, s, atomic | sees | ATOMIC,
                             writes ? SSHB_WRITE_WRITE : SSHB_WRITE_READ);
        if (writes)
            unread += sshb_check(p, v, &p->atomics.rows[v->last.atomic].reads, t, s, atomic,
                                 SSHB_READ_WRITE);
    }
    if (reads)
        count_candidates(p, v);
    if (reads && __builtin_expect(unseen > 0 && !p->facts.full, 0))
        observe(p, v, t, s);
    if (writes && __builtin_expect(unseen + unread > 0 && !p->facts.full, 0)) {
        may_be_seen(p, v, t, s);
        if (unread && unseen + 1 > p->reads.most)
            p->reads.most = unseen + 1; /* earlier reads may have seen this write or those */
    }
}

/* ---- recording ---- */

static struct atomic_reads *atomic_reads(struct sshb *p, const struct variable *v)
{
    GROW(p->atomic_reads, p->atomic_reads_cap, (size_t)v->last.atomic + 1);
    return &p->atomic_reads[v->last.atomic];
}

static inline void record_in_sshb(struct sshb *p, struct variable *v, const struct hb_thread *t,
                                  const struct step *s)
{
    accesses_put(&v->last, &p->atomics, t, s);
    if (op_is_atomic(s->op) && s->op != OP_LOAD)
        atomic_reads(p, v)->last = s->position;
    if (s->op == OP_READ)
        sshb_log_read(&p->reads, &v->readers, t, s->position);
    else if (op_table[s->op].reads)
        sshb_log_read(&p->reads, &atomic_reads(p, v)->readers, t, s->position);
    if (!v->first_time && op_table[s->op].writes) {
        v->first_slot = t->clock.slot;
        v->first_time = t->clock.time;
    }
}

/* ---- variables that come and part ---- */

static struct birth *birth_of(struct sshb *p, uint32_t block)
{
    size_t old = p->births_cap;

    GROW(p->births, p->births_cap, (size_t)block + 1);
    for (size_t i = old; i < p->births_cap; i++)
        p->births[i] = BIRTH_NONE;
    return &p->births[block];
}

static void sshb_begin(struct sshb *p, struct variable *v, const struct step *s)
{
    const struct hb_block *b = hb_block_of(&p->hb, s);

    sshb_forget(p, v);
    if (!b)
        return;
    v->birth = *birth_of(p, s->from - 1);
    v->birth.told = SLOT_NONE;
    if (!b->freed)
        return;
    accesses_put_free(&v->last, b);
    v->first_slot = b->free_slot;
    v->first_time = b->free_time;
}

static void sshb_split(struct sshb *p, uint32_t from, uint32_t to)
{
    struct variable *old = &p->vars[from], *new = &p->vars[to];

    sshb_forget(p, new);
    accesses_copy(&new->last, &old->last, &p->atomics);
    sshb_readers_copy(&new->readers, &old->readers);
    new->racy = sshb_racy_copy(&p->reads, old->racy, to);
    if (old->last.atomic) {
        struct atomic_reads *to_reads = atomic_reads(p, new);
        const struct atomic_reads *from_reads = &p->atomic_reads[old->last.atomic];

        sshb_readers_copy(&to_reads->readers, &from_reads->readers);
        to_reads->last = from_reads->last;
    }
    new->first_slot = old->first_slot;
    new->first_time = old->first_time;
    new->birth = old->birth;
}

/* Memory is there before it is used: an edge in every order, though not in
 * happens-before. */
static inline void after_birth(struct sshb *p, struct birth *b, const struct hb_thread *t,
                               const struct step *s)
{
    if (b->slot == SLOT_NONE || b->told == t->clock.slot || hb_knows(t, b->slot, b->time))
        return;
    b->told = t->clock.slot;
    sshb_add_birth(&p->facts, (struct sshb_point){ b->slot, b->position },
                   (struct sshb_point){ t->clock.slot, (uint32_t)s->position });
}

/* Blocks as in hb.c: a part that is freed by itself was allocated with the
 * whole. */
static void block_step(struct sshb *p, const struct step *s, const struct hb_thread *t)
{
    struct birth *b = birth_of(p, s->id);

    if (s->op == OP_ALLOC) {
        *b = (struct birth){ t->clock.slot, t->clock.time, (uint32_t)s->position, SLOT_NONE };
        return;
    }
    if (s->flags & STEP_FRESH)
        *b = s->from ? p->births[s->from - 1] : BIRTH_NONE;
    after_birth(p, b, t, s);
}

static void grow_variables(struct sshb *p, uint32_t count)
{
    size_t old = p->vars_cap;

    GROW(p->vars, p->vars_cap, count);
    for (size_t i = old; i < p->vars_cap; i++)
        p->vars[i].birth = BIRTH_NONE;
}

/* ---- steps ---- */

/* Everything of a step that comes before any comparison. */
static inline void sshb_prepare(struct sshb *p, const struct step *s)
{
    struct hb_thread *t;

    if (__builtin_expect(s->op > OP_WRITE, 0))
        sshb_facts_before(&p->facts, s);
    hb_before(&p->hb, s);
    if (__builtin_expect(s->op == OP_SPLIT, 0)) {
        sshb_split(p, s->from, s->id);
        return;
    }
    t = hb_thread(&p->hb, s->thread);
    sshb_facts_step(&p->facts, s, t);
    if (op_is_access(s->op)) {
        if (s->flags & STEP_FRESH)
            sshb_begin(p, &p->vars[s->id], s);
        after_birth(p, &p->vars[s->id].birth, t, s);
    } else if (s->op == OP_ALLOC || s->op == OP_FREE) {
        block_step(p, s, t);
    }
}

static inline void sshb_tick(struct sshb *p, const struct step *s, struct hb_thread *t)
{
    t->clock.time++;
    sshb_facts_ticked(&p->facts, s, t);
}

/* An event of one step; most are. */
static inline void single(struct sshb *p, const struct step *s)
{
    struct hb_thread *t;
    struct variable *v;

    sshb_prepare(p, s);
    if (!op_is_access(s->op))
        return;
    t = hb_thread(&p->hb, s->thread);
    v = &p->vars[s->id];
    sshb_compare(p, v, t, s);
    record_in_sshb(p, v, t, s);
    if (hb_after(&p->hb, s))
        sshb_tick(p, s, t);
}

/* The steps of one event that touches several variables, or frees memory. */
static void sshb_group(struct sshb *p, const struct step *s, size_t n)
{
    struct hb_thread *t = hb_thread(&p->hb, s->thread);
    bool ticks = false;

    for (size_t i = 0; i < n; i++)
        sshb_prepare(p, &s[i]);
    sshb_facts_several(&p->facts, true);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            sshb_compare(p, &p->vars[s[i].id], t, &s[i]);
    sshb_facts_several(&p->facts, false);
    for (size_t i = 0; i < n; i++)
        if (op_is_access(s[i].op))
            record_in_sshb(p, &p->vars[s[i].id], t, &s[i]);
    for (size_t i = 0; i < n; i++) {
        if (s[i].op == OP_FREE)
            hb_free_block(&p->hb, t, &s[i]);
        else if (op_is_access(s[i].op))
            ticks |= hb_after(&p->hb, &s[i]);
    }
    if (ticks)
        sshb_tick(p, s, t);
}

static inline void sshb_prefetch(const struct sshb *p, const struct step *s)
{
    if (op_is_access(s->op)) {
        __builtin_prefetch(&p->vars[s->id]);
        __builtin_prefetch((const char *)&p->vars[s->id] + 64);
    }
}

static void sshb_steps(void *state, const struct span *span)
{
    struct sshb *p = state;
    uint64_t start = now_us();
    size_t n;

    hb_begin_span(&p->hb, span);
    sshb_facts_begin_span(&p->facts, span);
    grow_variables(p, span->variables);
    for (size_t i = 0; i < span->count; i += n) {
        const struct step *s = &span->steps[i];

        if (i + STEPS_AHEAD < span->count)
            sshb_prefetch(p, &s[STEPS_AHEAD]);
        n = 1;
        if (__builtin_expect(s->flags & STEP_GROUP || s->op == OP_FREE, 0))
            sshb_group(p, s, n = step_group(span, i));
        else
            single(p, s);
    }
    p->phase1_us += now_us() - start;
}

const struct engine engine_sshb = {
    .name = "sshb",
    .summary = "happens-before races, and which of them no choice of "
               "writers can order",
    .proves = STRENGTH_MAYBE,
    .sees_all = true,
    .follows = &engine_hb,
    .open = sshb_open,
    .steps = sshb_steps,
    .finish = sshb_finish,
    .decide = sshb_decide,
    .close = sshb_close,
};
