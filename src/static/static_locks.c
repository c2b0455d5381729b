/* static_locks.c - locks that are held at a place, whoever runs it
 *
 * Forward data flow with intersection: a lock call with one possible lock adds it, an unlock call
 * takes away all it may mean. A function is the pair of its exits for "none" and "all"; at entry
 * it holds what all its callers hold. Shared locks and those that may fail do not count.
 *
 * NOT sound as a reason to leave a pair out: one abstract lock may be many (an allocation site,
 * a member of an array), and locks that are held alternately order nothing between them.
 * The first 64 locks are told apart.
 */
#include "base/alloc.h"
#include "static/static_threads.h"

#include <stdlib.h>
#include <string.h>

enum { LOCKS_MAX = 64 };

struct locks {
    uint32_t at[LOCKS_MAX]; /* locations */
    unsigned count;
    uint64_t *exit0, *exit1, *entry; /* of functions */
    uint64_t *scratch;               /* of blocks */
    uint64_t *gains, *loses;         /* of calls */
};

static uint64_t lock_bit(struct locks *k, uint32_t location)
{
    for (unsigned i = 0; i < k->count; i++)
        if (k->at[i] == location)
            return UINT64_C(1) << i;
    if (k->count == LOCKS_MAX)
        return 0;
    k->at[k->count] = location;
    return UINT64_C(1) << k->count++;
}

/* All that a call's first argument may be; `one` says whether that is one exact place. */
static uint64_t lock_bits(struct statics *s, struct locks *k, const struct call *c, bool *one)
{
    const struct fact_function *code = s->functions[c->function].code;
    const struct fact *f = &code->facts[c->fact];
    uint64_t bits = 0;
    unsigned n = 0;
    bool exact = true;

    for (uint32_t i = s->functions[c->function].instance + 1; i && f->nargs;
         i = s->instances[i - 1].next) {
        const struct set *set = node_set(s, call_arg(s, i - 1, f, 0));

        SET_EACH(set, l)
        {
            uint64_t bit = l == ANYWHERE ? UINT64_MAX : lock_bit(k, (uint32_t)l);

            n += !(bits & bit);
            bits |= bit;
            exact &= l != ANYWHERE && s->locations[l].stride == 0;
        }
    }
    *one = n == 1 && exact;
    return n ? bits : UINT64_MAX;
}

static void find_effects(struct statics *s, struct locks *k)
{
    for (size_t i = 0; i < s->ncalls; i++) {
        const struct call *c = &s->calls[i];
        uint64_t bits;
        bool one;

        if (!c->model || (c->model->does != LIBC_LOCK && c->model->does != LIBC_UNLOCK))
            continue;
        bits = lock_bits(s, k, c, &one);
        if (c->model->does == LIBC_UNLOCK)
            k->loses[i] = bits;
        else if (one)
            k->gains[i] = bits;
    }
}

static uint64_t pass_call(const struct statics *s, const struct locks *k, uint32_t i, uint64_t held)
{
    const struct call *c = &s->calls[i];
    uint64_t out = UINT64_MAX;

    held = (held | k->gains[i]) & ~k->loses[i];
    if (c->model || !c->ntargets)
        return held;
    for (uint32_t t = 0; t < c->ntargets; t++)
        out &= k->exit0[c->targets[t]] | (held & k->exit1[c->targets[t]]);
    return out;
}

static uint64_t flow(struct statics *s, struct locks *k, uint32_t f, uint64_t entry, bool calls,
                     bool *more)
{
    const struct fact_function *code = s->functions[f].code;
    const uint32_t *first = s->threads->first_call;
    uint64_t exits = UINT64_MAX;
    bool again = true;

    memset(k->scratch, 0xff, code->nblocks * sizeof(*k->scratch));
    k->scratch[0] = entry;
    while (again) {
        uint32_t call = first[f];

        again = false;
        exits = UINT64_MAX;
        for (uint32_t b = 0; b < code->nblocks; b++) {
            uint64_t held = k->scratch[b];

            for (; call < first[f + 1] && s->calls[call].fact < code->blocks[b + 1].first; call++) {
                const struct call *c = &s->calls[call];

                for (uint32_t t = 0; calls && !c->thread && t < c->ntargets; t++) {
                    *more |= (k->entry[c->targets[t]] & ~held) != 0;
                    k->entry[c->targets[t]] &= held;
                }
                held = pass_call(s, k, call, held);
            }
            if (!code->blocks[b].nnext)
                exits &= held;
            for (uint32_t n = 0; n < code->blocks[b].nnext; n++) {
                uint64_t *in = &k->scratch[code->next[code->blocks[b].next + n]];

                again |= (*in & ~held) != 0;
                *in &= held;
            }
        }
    }
    return exits;
}

static void find_exits(struct statics *s, struct locks *k)
{
    bool more = true, unused;

    memset(k->exit0, 0xff, s->nfunctions * sizeof(*k->exit0));
    memset(k->exit1, 0xff, s->nfunctions * sizeof(*k->exit1));
    while (more) {
        more = false;
        for (uint32_t f = 0; f < s->nfunctions; f++) {
            uint64_t none, all;

            if (!s->functions[f].code->nblocks)
                continue;
            none = flow(s, k, f, 0, false, &unused);
            all = flow(s, k, f, UINT64_MAX, false, &unused);
            more |= none != k->exit0[f] || all != k->exit1[f];
            k->exit0[f] = none;
            k->exit1[f] = all;
        }
    }
}

/* Functions that start with nothing: of threads, of untraced code, main(). */
static void find_entries(struct statics *s, struct locks *k)
{
    bool more = true;
    uint32_t e = statics_main(s);

    memset(k->entry, 0xff, s->nfunctions * sizeof(*k->entry));
    for (uint32_t f = 0; f < s->nfunctions; f++)
        if (s->functions[f].escaped)
            k->entry[f] = 0;
    for (uint32_t i = 0; e != UINT32_MAX && i < s->entities[e].nfunctions; i++)
        k->entry[s->entities[e].functions[i]] = 0;
    for (size_t i = 0; i < s->ncalls; i++)
        for (uint32_t t = 0; (s->calls[i].thread || s->calls[i].model) && t < s->calls[i].ntargets;
             t++)
            k->entry[s->calls[i].targets[t]] = 0;
    while (more) {
        more = false;
        for (uint32_t f = 0; f < s->nfunctions; f++)
            if (s->functions[f].code->nblocks && threads_of(s, f))
                flow(s, k, f, k->entry[f], true, &more);
    }
}

void locks_find(struct statics *s)
{
    struct locks *k = s->locks = xcalloc(1, sizeof(*k));
    uint32_t blocks = 0;

    for (uint32_t f = 0; f < s->nfunctions; f++)
        if (s->functions[f].code->nblocks > blocks)
            blocks = s->functions[f].code->nblocks;
    k->scratch = xcalloc(blocks + (size_t)1, sizeof(*k->scratch));
    k->exit0 = xcalloc(s->nfunctions + 1, sizeof(*k->exit0));
    k->exit1 = xcalloc(s->nfunctions + 1, sizeof(*k->exit1));
    k->entry = xcalloc(s->nfunctions + 1, sizeof(*k->entry));
    k->gains = xcalloc(s->ncalls + 1, sizeof(*k->gains));
    k->loses = xcalloc(s->ncalls + 1, sizeof(*k->loses));
    find_effects(s, k);
    find_exits(s, k);
    find_entries(s, k);
}

void locks_release(struct statics *s)
{
    struct locks *k = s->locks;

    if (!k)
        return;
    free(k->scratch);
    free(k->exit0);
    free(k->exit1);
    free(k->entry);
    free(k->gains);
    free(k->loses);
    free(k);
    s->locks = NULL;
}

uint64_t locks_held(const struct statics *s, uint32_t function, uint32_t fact)
{
    struct locks *k = s->locks;
    const struct fact_function *code = s->functions[function].code;
    uint32_t b = 0;
    uint64_t held;
    bool unused;

    flow((struct statics *)s, k, function, k->entry[function], false, &unused);
    while (b + 1 < code->nblocks && code->blocks[b + 1].first <= fact)
        b++;
    held = k->scratch[b];
    for (uint32_t i = s->threads->first_call[function];
         i < s->threads->first_call[function + 1] && s->calls[i].fact < fact; i++)
        if (s->calls[i].fact >= code->blocks[b].first)
            held = pass_call(s, k, i, held);
    return held;
}
