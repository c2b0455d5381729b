/* suspects.c - which variables can have a sync-preserving race at all
 *
 * Two accesses cannot race when the order without locks (closure.h) orders
 * them, or when a lock protects both: the closure of their pasts has both
 * sections, so it has the release of the earlier one and with it the access.
 * A variable with a conflicting pair of which neither holds is a suspect; the
 * others, nearly all in most programs, need no memory later.
 *
 * Per variable and (slot, locks held, kind) the last access is kept: who does
 * not know the last one may as well stand for all who do not know one before.
 * An access drops those that it knows of and that conflict with no more than
 * it does itself: whatever is unordered with them is unordered with it.
 * Where there are many, those of one slot and kind become one.
 */
#include "engines/closure/suspects.h"
#include "engines/closure/closure.h"
#include "order/held_sets.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Accesses of a variable that are kept apart by the locks they hold. Constants are read under all
 * locks of a program; without a bound every read would look at all of them. */
enum { EXACT_ACCESSES = 24 };

struct last_access {
    uint32_t slot, time;
    uint32_t set;
    uint8_t kind;
};

struct suspicion_var {
    struct last_access *many; /* where cap is not 0 */
    struct last_access one;
    uint32_t count, cap;
    uint32_t life;
    bool suspect;
};

/* A variable that came out of another one by a split. */
struct descent {
    uint32_t child, parent; /* lives */
};

struct suspicion {
    struct closure *closure;
    struct held_sets sets;
    struct suspicion_var *vars;
    size_t vars_cap;
    struct suspects out;
    struct descent *descents;
    size_t ndescents, descents_cap;
};

static void on_access(void *arg, const struct step *s, const struct closure_past *past);

static void on_acquire(void *arg, const struct step *s, const struct closure_past *past)
{
    (void)past;
    held_sets_acquire(&((struct suspicion *)arg)->sets, s);
}

static void on_release(void *arg, const struct step *s)
{
    held_sets_release_lock(&((struct suspicion *)arg)->sets, s);
}

static void on_over(void *arg, uint32_t thread)
{
    held_sets_over(&((struct suspicion *)arg)->sets, thread);
}

static void on_ahead(void *arg, const struct step *s)
{
    __builtin_prefetch(&((struct suspicion *)arg)->vars[s->id]);
}

struct suspicion *suspicion_new(void)
{
    struct suspicion *p = xcalloc(1, sizeof(*p));
    struct closure_hooks hooks = { p, on_access, on_acquire, on_release, on_over, on_ahead };

    p->closure = closure_new(false, 0, &hooks);
    held_sets_init(&p->sets);
    return p;
}

void suspicion_free(struct suspicion *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->vars_cap; i++)
        free(p->vars[i].many);
    free(p->vars);
    free(p->descents);
    free(p->out.bits);
    held_sets_release(&p->sets);
    closure_free(p->closure);
    free(p);
}

/* ---- the accesses of a variable ---- */

static struct last_access *accesses(struct suspicion_var *v)
{
    return v->cap ? v->many : &v->one;
}

static void suspects_append(struct suspicion_var *v, struct last_access a)
{
    if (!v->cap && !v->count) {
        v->one = a;
    } else {
        size_t cap = v->cap;

        GROW(v->many, cap, v->count + 1);
        if (!v->cap)
            v->many[0] = v->one;
        v->cap = (uint32_t)cap;
        v->many[v->count] = a;
    }
    v->count++;
}

static void suspects_forget(struct suspicion_var *v)
{
    free(v->many);
    *v = (struct suspicion_var){ 0 };
}

void suspects_add(struct suspects *s, uint32_t life)
{
    GROW(s->bits, s->words_cap, life / 64 + 1);
    s->bits[life / 64] |= (uint64_t)1 << (life % 64);
}

static void accuse(struct suspicion *p, struct suspicion_var *v)
{
    uint32_t life = v->life;

    suspects_forget(v);
    v->life = life;
    v->suspect = true;
    p->out.count++;
    suspects_add(&p->out, life);
}

static bool may_race(const struct suspicion *p, const struct last_access *a,
                     const struct last_access *b, const struct clock *clock)
{
    return a->slot != b->slot && kinds_conflict(a->kind, b->kind) &&
           !clock_knows(clock, a->slot, a->time) && !held_sets_protect(&p->sets, a->set, b->set);
}

/* Does `now` conflict with all that `old` conflicts with, under no more locks? */
static bool stands_for(const struct last_access *now, const struct last_access *old)
{
    return !(old->kind & ~now->kind & KIND_WRITE) && !(now->kind & ~old->kind & KIND_ATOMIC) &&
           (!now->set || now->set == old->set);
}

/* One access stands for all of its slot and kind, with the locks they have in common: perhaps a
 * suspect too many, never one too few. */
static void fold(struct suspicion *p, struct suspicion_var *v, struct last_access *now)
{
    struct last_access *a = accesses(v);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < v->count; i++) {
        if (a[i].slot == now->slot && a[i].kind == now->kind)
            now->set = held_sets_common(&p->sets, now->set, a[i].set);
        else
            a[kept++] = a[i];
    }
    v->count = kept;
}

static void keep_unknown(struct suspicion_var *v, const struct last_access *now,
                         const struct clock *clock)
{
    struct last_access *a = accesses(v);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < v->count; i++)
        if (!clock_knows(clock, a[i].slot, a[i].time) || !stands_for(now, &a[i]))
            a[kept++] = a[i];
    v->count = kept;
}

static void suspects_compare(struct suspicion *p, struct suspicion_var *v, struct last_access now,
                             const struct clock *clock)
{
    const struct last_access *a = accesses(v);

    for (uint32_t i = 0; i < v->count; i++) {
        if (may_race(p, &a[i], &now, clock)) {
            accuse(p, v);
            return;
        }
    }
    if (v->count >= EXACT_ACCESSES)
        fold(p, v, &now);
    keep_unknown(v, &now, clock);
    suspects_append(v, now);
}

/* ---- lives ---- */

static void suspects_begin(struct suspicion *p, struct suspicion_var *v, const struct step *s)
{
    struct closure_past freed;

    suspects_forget(v);
    v->life = p->out.lives++;
    if (closure_freed(p->closure, s, &freed, NULL))
        suspects_append(v,
                        (struct last_access){ freed.clock.slot, freed.clock.time, 0, KIND_WRITE });
}

/* What happened to the whole has happened to its part. */
static void suspects_split(struct suspicion *p, const struct suspicion_var *from,
                           struct suspicion_var *to)
{
    suspects_forget(to);
    *to = *from;
    to->life = p->out.lives++;
    if (from->cap) {
        to->many = xcalloc(from->cap, sizeof(*to->many));
        memcpy(to->many, from->many, from->count * sizeof(*to->many));
    }
    if (to->suspect)
        accuse(p, to);
    GROW(p->descents, p->descents_cap, p->ndescents + 1);
    p->descents[p->ndescents++] = (struct descent){ to->life, from->life };
}

/* The last access of all was of the same kind by the same thread: it stood here before. */
static bool repeats(struct suspicion_var *v, const struct last_access *now)
{
    struct last_access *last = accesses(v) + (v->count ? v->count - 1 : 0);

    if (!v->count || last->slot != now->slot || last->set != now->set || last->kind != now->kind)
        return false;
    last->time = now->time;
    return true;
}

static void on_access(void *arg, const struct step *s, const struct closure_past *past)
{
    struct suspicion *p = arg;
    struct suspicion_var *v = &p->vars[s->id];
    struct last_access now = { past->clock.slot, past->clock.time,
                               held_sets_of(&p->sets, s->thread).set, 0 };

    if (s->op == OP_SPLIT) {
        suspects_split(p, &p->vars[s->from], v);
        return;
    }
    p->out.accesses++;
    if (s->flags & STEP_FRESH)
        suspects_begin(p, v, s);
    if (v->suspect)
        return;
    now.kind = access_kind(s->op);
    if (!repeats(v, &now))
        suspects_compare(p, v, now, &past->clock);
}

void suspicion_steps(struct suspicion *p, const struct span *span)
{
    GROW(p->vars, p->vars_cap, span->variables);
    closure_steps(p->closure, span);
}

/* A part's history began with the whole, so the whole has to be watched too. */
struct suspects suspicion_finish(struct suspicion *p)
{
    struct suspects out;

    for (size_t i = p->ndescents; i-- > 0;)
        if (suspects_has(&p->out, p->descents[i].child))
            suspects_add(&p->out, p->descents[i].parent);
    out = p->out;
    p->out = (struct suspects){ 0 };
    return out;
}
