/* frames.c - frames that were left and entered since the last event, as moves
 *
 * Functions push to a shadow stack in memory (abi.h). When an event is recorded, what has changed
 * since the last one goes before it: some of the innermost frames were left, some entered. That
 * is a move, and programs repeat the same ones: C++ without inlining makes one before most
 * accesses. A thread numbers the moves that it has told of, in a direct-mapped table of their
 * hashes; one that is known is a record of one word, and stays one number up to the analysis.
 *
 * A move is known by 64 bits of hash over all its frames; that two of a thread's moves have the
 * same in one slot is less likely than a fault of the memory. Thread and generation are part of
 * it, so that a recycled table, or one from before a dlclose(), never matches.
 *
 * Limit: once a thread was deeper than its shadow stack has frames, what was told is not known
 * any more; from then on its frames are told one by one (the writer knows its own stack).
 */
#include "runtime/core/state.h"

static uint64_t generation;

void frames_forget_moves(void)
{
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELAXED);
}

static bool frames_is_same(const struct heddle_frame *a, const struct heddle_frame *b)
{
    return a->return_address == b->return_address && a->site == b->site;
}

/* A frame that was left and entered again from the same place is the same to whoever reads a
 * stack: in a loop that calls functions only those are written whose place changes. Returns the
 * depth up to which the trace has the frames of now. */
static uint32_t frames_kept(const struct rt_thread *t)
{
    uint32_t both = tls.depth < t->recorded ? tls.depth : t->recorded;
    uint32_t depth = tls.low < both ? tls.low : both;

    if (unlikely(t->too_deep))
        return depth;
    while (depth < both && frames_is_same(&t->told[depth].frame, &tls.shadow[depth]))
        depth++;
    return depth;
}

/* ---- one by one ---- */

static void tell_frames(struct rt_thread *t, uint32_t kept)
{
    uint64_t *w;

    if (kept < t->recorded) {
        w = room(t, true);
        if (!w)
            return;
        w[0] = RING_WORD(R_EXIT, 0, t->recorded - kept);
        commit(1);
        t->recorded = kept;
    }
    if (tls.depth > t->recorded + SHADOW_MASK)
        __atomic_fetch_add(&rt.ring->overruns, 1, __ATOMIC_RELAXED);
    while (t->recorded < tls.depth) {
        const struct heddle_frame *f = &tls.shadow[t->recorded & SHADOW_MASK];

        w = room(t, true);
        if (!w)
            return;
        w[0] = RING_WORD(R_ENTER, 0, f->return_address);
        w[1] = f->site;
        commit(2);
        t->told[t->recorded++ & SHADOW_MASK].frame = *f;
    }
    tls.low = tls.depth;
}

/* ---- moves ---- */

static inline uint64_t mix(uint64_t h, const struct heddle_frame *f)
{
    h ^= f->return_address * UINT64_C(0x9fb21c651e98df25) + f->site * UINT64_C(0xd6e8feb86659fd93);
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static inline uint64_t stack_of(const struct rt_thread *t, uint32_t depth)
{
    return depth ? t->told[depth - 1].stack : 0;
}

uint64_t frames_stack_now(struct rt_thread *t)
{
    uint32_t depth = frames_kept(t);
    uint64_t h = stack_of(t, depth);

    for (; depth < tls.depth; depth++)
        h = mix(h, &tls.shadow[depth]);
    return h;
}

/* Never 0, which is an empty slot. */
static inline uint64_t move_hash(const struct rt_thread *t, const struct told_frame *left,
                                 uint32_t nleft, const struct heddle_frame *entered,
                                 uint32_t nentered)
{
    uint64_t h = (uint64_t)t->number << 32 ^ nleft << 8 ^ nentered ^
                 __atomic_load_n(&generation, __ATOMIC_RELAXED) << 16;
    uint32_t i;

    h *= UINT64_C(0x9e3779b97f4a7c15);
    for (i = 0; i < nleft; i++)
        h = mix(h, &left[i].frame);
    for (i = 0; i < nentered; i++)
        h = mix(h, &entered[i]);
    return h | 1;
}

/* The frames [kept, kept + left) that were told of are left, [kept, kept + entered) entered. False:
 * there is no room. */
static bool append_move(struct rt_thread *t, uint32_t kept, uint32_t left, uint32_t entered)
{
    const struct heddle_frame *now = &tls.shadow[kept];
    struct told_frame *told = &t->told[kept];
    uint64_t hash = move_hash(t, told, left, now, entered), *w = room(t, true);
    uint32_t slot = hash >> (64 - MOVE_BITS), i;

    if (unlikely(!w))
        return false;
    if (likely(t->moves[slot] == hash)) {
        w[0] = RING_WORD(R_MOVE, 0, slot);
        commit(1);
    } else {
        w[0] = RING_WORD(R_MOVE, MOVE_NEW, slot | left << 16 | (uint64_t)entered << 24);
        for (i = 0; i < entered; i++) {
            w[1 + 2 * i] = now[i].return_address;
            w[2 + 2 * i] = now[i].site;
        }
        commit(1 + 2 * entered);
        t->moves[slot] = hash;
    }
    t->stack = stack_of(t, kept);
    for (i = 0; i < entered; i++)
        told[i] = (struct told_frame){ now[i], t->stack = mix(t->stack, &now[i]) };
    t->recorded = kept + entered;
    return true;
}

void frames_flush_slow(struct rt_thread *t)
{
    uint32_t kept, left, entered;

    t->too_deep |= (tls.depth > t->recorded ? tls.depth : t->recorded) > SHADOW_MASK;
    kept = frames_kept(t);
    if (unlikely(t->too_deep | rt.full)) {
        tell_frames(t, kept);
        return;
    }
    while (unlikely(t->recorded - kept > MOVE_LEFT_MAX))
        if (!append_move(t, t->recorded - MOVE_LEFT_MAX, MOVE_LEFT_MAX, 0))
            return;
    left = t->recorded - kept;
    while (left || kept < tls.depth) {
        entered = tls.depth - kept < MOVE_ENTERED_MAX ? tls.depth - kept : MOVE_ENTERED_MAX;
        if (!append_move(t, kept, left, entered))
            return;
        kept += entered;
        left = 0;
    }
    tls.low = tls.depth;
}
