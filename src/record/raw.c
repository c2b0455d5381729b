/* raw.c - decoding raw records
 *
 * Accesses are nearly everything, so their path is short: one look-up for the
 * site, one store of the event. All other records go through small handlers.
 *
 * Calls. A full build announces calls of functions that the compiler could not
 * see. If the function turns out to be traced (by its name, or because the
 * next thing is its entry) the call is not an event of the trace; nor is its
 * return. Default builds announce only calls that are known to be untraced.
 *
 * Objects. What is told of them stands in the list of the call that follows.
 * It is told once, whatever becomes of the call: without one it becomes events
 * of its own, object and link.
 */
#include "record/raw.h"
#include "base/alloc.h"
#include "trace/hdl/encode_stretch.h"

#include <stdlib.h>
#include <string.h>

enum {
    RAW_DEPTH = 1 << 14,   /* frames kept; the runtime's shadow stack has half of it */
    RAW_CALLS = 1 << 16,   /* calls that never return: then something is wrong */
    RAW_OBJECTS = 1 << 16, /* words told before one call; beyond that they do not wait for it */
    RUN_LEAST = 4
};
#define RANGE_MAX ((uint64_t)1 << 40) /* no program touches a TiB in one go */

void raw_reader_release(struct raw_reader *r)
{
    pc_cache_release(&r->pcs);
    handles_release(&r->handles);
    free(r->extra);
}

void raw_thread_release(struct raw_thread *t)
{
    for (size_t i = 0; i < t->moves_cap; i++)
        free(t->moves[i].frames);
    free(t->moves);
    free(t->stack);
    free(t->calls);
    free(t->pointers);
    free(t->objects);
    t->moves = NULL;
    t->moves_cap = 0;
    t->stack = NULL;
    t->calls = NULL;
    t->pointers = t->objects = NULL;
    t->depth = t->stack_cap = t->ncalls = t->calls_cap = t->pointers_cap = 0;
    t->nobjects = t->objects_cap = 0;
}

/* ---- events ---- */

static void flush(struct raw_reader *r)
{
    if (r->count)
        r->take(r->arg, r);
    r->count = 0;
    r->nextra = 0;
}

static inline struct event *new_event(struct raw_reader *r, const struct raw_thread *t, unsigned op,
                                      uint64_t target, uint32_t site, uint64_t sequence)
{
    struct event *ev;

    if (__builtin_expect(r->count == RAW_SLICE, 0))
        flush(r);
    ev = &r->events[r->count];
    r->sequences[r->count] = sequence;
    r->stamps[r->count++] = t->stamp;
    *ev = (struct event){ .target = target, .thread = t->thread, .site = site, .op = (uint8_t)op };
    return ev;
}

static uint64_t place_of(struct raw_reader *r, uint64_t where)
{
    if (where & WHERE_PC)
        return places_find_pc(r->places, &r->pcs, where & ~WHERE_PC & RING_LOW);
    return where >> 32 ? PLACE_KNOWN | SITE_NONE : places_site(r->places, (uint32_t)where);
}

static uint32_t site_of(struct raw_reader *r, uint64_t where)
{
    return place_site(place_of(r, where));
}

/* The WHERE of a function's entry. */
static uint64_t entered_at(uint64_t word, uint64_t where)
{
    return ring_arg(word) & ENTER_DEPTH ? (uint32_t)where : where;
}

/* What is known of a stretch, by the number in its record. */
static uint64_t entry_of(uint64_t *const *pages, uint64_t word)
{
    const uint64_t *page =
        __atomic_load_n(&pages[(uint32_t)word >> PLACE_PAGE_BITS], __ATOMIC_ACQUIRE);

    return page ? __atomic_load_n(&page[word & ((1u << PLACE_PAGE_BITS) - 1)], __ATOMIC_ACQUIRE)
                : 0;
}

/* Now it is known, or there is no such record. */
static const char *find_stretch(struct raw_reader *r, uint64_t word)
{
    if (!places_find_stretch(r->places, (uint32_t)word))
        return "stretch of code without a site table";
    return (entry_of(r->places->stretch_pages, word) >> 32 & 0xff) == ring_stretch_words(word)
               ? NULL
               : "impossible stretch";
}

/* ---- objects ---- */

static void add_object_entry(struct raw_thread *t, uint64_t first, uint64_t second)
{
    GROW(t->objects, t->objects_cap, t->nobjects + 2);
    t->objects[t->nobjects++] = first;
    t->objects[t->nobjects++] = second;
}

/* What was told is not to wait for a call. */
static void show_objects(struct raw_reader *r, struct raw_thread *t, uint32_t site)
{
    for (size_t i = 0; i < t->nobjects; i += 2) {
        bool slot = D_KIND(t->objects[i]) == D_SLOT_KIND;
        uint64_t address = D_LOW(t->objects[i]);

        new_event(r, t, slot ? OP_LINK : OP_OBJECT, address, site, 0)->value = t->objects[i + 1];
    }
    t->nobjects = 0;
}

/* An object as it is; or (OBJECT_MORE) some more of its words, or what has become of them. */
static const char *take_object(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    uint64_t address = ring_low(w[0]), bytes = w[1];
    bool more = ring_arg(w[0]) & OBJECT_MORE;

    if (!address || !bytes || bytes > RING_LOW)
        return "impossible object";
    if (t->nobjects > RAW_OBJECTS)
        show_objects(r, t, SITE_NONE);
    if (!more)
        add_object_entry(t, D_ENTRY(D_EXTENT_KIND, address), bytes);
    for (uint64_t i = 0; i < w[2]; i++) {
        uint64_t slot = w[3 + 2 * i], pointer = w[4 + 2 * i] < ADDRESS_LIMIT ? w[4 + 2 * i] : 0;

        if (slot < ADDRESS_LIMIT && (pointer || more))
            add_object_entry(t, D_ENTRY(D_SLOT_KIND, slot), pointer);
    }
    return NULL;
}

/* A pointer was stored; what is no address is none. */
static void take_link(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    uint64_t site = w[2], pointer = w[1] < ADDRESS_LIMIT ? w[1] : 0;

    new_event(r, t, OP_LINK, ring_low(w[0]), site_of(r, site), 0)->value = pointer;
}

/* ---- calls ---- */

static void add_entry(struct raw_reader *r, struct event *ev, uint64_t first, uint64_t second)
{
    GROW(r->extra, r->extra_cap, r->nextra + 2);
    r->extra[r->nextra++] = first;
    r->extra[r->nextra++] = second;
    ev->old++;
}

/* A pointer that the call passes. The handle of a thread stands for that thread, not for the
 * memory of the C library there, which is part of its stack. */
static void add_pointer(struct raw_reader *r, struct raw_thread *t, struct event *ev, uint64_t p)
{
    uint32_t threads[HANDLES_MAX];
    size_t n;

    if (!p || p >= ADDRESS_LIMIT)
        return;
    n = handles_find(&r->handles, r->ring, p, threads);
    if (!n)
        add_entry(r, ev, D_ENTRY(D_ROOT_KIND, p), 0);
    for (size_t i = 0; i < n; i++) {
        places_name_thread(r->places, threads[i]);
        if (threads[i] != t->thread)
            add_entry(r, ev, D_THREAD(threads[i]), 0);
    }
}

/* What the records before say of the pointers is its D. */
static void show_begin(struct raw_reader *r, struct raw_thread *t, const struct raw_call *call,
                       uint32_t site)
{
    struct event *ev = new_event(r, t, OP_CALL, call->function, site, 0);

    ev->value = r->nextra;
    for (size_t i = 0; i < t->nobjects; i += 2)
        add_entry(r, ev, t->objects[i], t->objects[i + 1]);
    t->nobjects = 0;
    for (size_t i = 0; i < t->npointers; i++)
        add_pointer(r, t, ev, t->pointers[i]);
    if (call->all)
        add_entry(r, ev, D_ENTRY(D_ALL_KIND, 0), 0);
}

static void show_call(struct raw_reader *r, struct raw_thread *t)
{
    struct raw_call *call = &t->calls[t->ncalls - 1];

    show_begin(r, t, call, place_site(places_site(r->places, call->site)));
    call->shown = true;
    t->call_waits = false;
}

/* The function is traced: no call. */
static void drop_call(struct raw_reader *r, struct raw_thread *t)
{
    const struct raw_call *call = &t->calls[t->ncalls - 1];

    t->call_waits = false;
    if (t->nobjects)
        show_objects(r, t, place_site(places_site(r->places, call->site)));
}

/* A call by pointer, or of a second name of the function: was it called from where the call
 * stands? Else untraced code calls back. */
static bool is_entry_of(struct raw_reader *r, const struct raw_call *call, uint32_t function,
                        uint64_t back)
{
    uint64_t from = places_find_pc(r->places, &r->pcs, back);

    if (function == call->function)
        return true;
    if (call->function == r->places->unknown_function)
        return places_pc_is_traced(r->places, back);
    return places_same_function(r->places, site_of(r, call->site), place_site(from));
}

/* The next record of the thread after a call: is it the called function's entry? `w` has two words
 * if the record has. */
static void settle_call(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    const struct raw_call *call = &t->calls[t->ncalls - 1];
    uint64_t place = 0, back = 0;

    if (ring_kind(w[0]) == R_ENTER) {
        place = place_of(r, entered_at(w[0], w[1]));
        back = ring_low(w[0]);
    } else if (ring_is_stretch(w[0]) && !find_stretch(r, w[0]) &&
               stretch_entry_frame(entry_of(r->places->stretch_pages, w[0])) & FRAME_ENTERED) {
        place = entry_of(r->places->frame_pages, w[0]);
        back = ring_low(w[1]);
    }
    if (place && is_entry_of(r, call, place_function(place), back))
        drop_call(r, t);
    else
        show_call(r, t);
}

/* ---- callbacks ---- */

static void show_return(struct raw_reader *r, struct raw_thread *t, const struct raw_call *call,
                        uint32_t site)
{
    if (call->shown && !call->away)
        new_event(r, t, OP_RETURN, call->function, site, 0);
}

/* The code of the thread's calls rests, as what they call back runs; that of some did already. */
static void take_away(struct raw_reader *r, struct raw_thread *t)
{
    t->aways++;
    for (size_t n = t->ncalls; n && !t->calls[n - 1].away; n--) {
        show_return(r, t, &t->calls[n - 1], SITE_NONE);
        t->calls[n - 1].away = t->aways;
    }
}

/* It goes on, as one call: the outermost of those that rested from the same moment on. Calls that
 * the callback made and that were left are over. */
static void take_back(struct raw_reader *r, struct raw_thread *t, bool all)
{
    uint32_t away;
    size_t n;

    for (; t->ncalls && !t->calls[t->ncalls - 1].away; t->ncalls--)
        show_return(r, t, &t->calls[t->ncalls - 1], SITE_NONE);
    if (!t->ncalls)
        return; /* to a call from before the recording */
    away = t->calls[t->ncalls - 1].away;
    for (n = t->ncalls; n > 1 && t->calls[n - 2].away == away;)
        n--;
    t->calls[n - 1].away = 0;
    t->calls[n - 1].all = all;
    if (t->calls[n - 1].shown)
        show_begin(r, t, &t->calls[n - 1], SITE_NONE);
}

static void keep_pointers(struct raw_thread *t, const uint64_t *pointers, uint64_t count)
{
    t->npointers = (size_t)count;
    GROW(t->pointers, t->pointers_cap, t->npointers);
    if (count)
        memcpy(t->pointers, pointers, count * 8);
}

static const char *take_call(struct raw_reader *r, struct raw_thread *t, const uint64_t *w,
                             uint64_t pointers)
{
    uint64_t place = places_site(r->places, (uint32_t)w[1]);
    unsigned arg = ring_arg(w[0]);
    struct raw_call call = { .site = (uint32_t)w[1],
                             .function = place_function(place),
                             .all = arg & CALL_ALL };

    keep_pointers(t, w + 2, pointers);
    if (arg & CALL_BACK) {
        take_back(r, t, call.all);
        return NULL;
    }
    if (call.site == CALL_HIDDEN)
        call.function = r->places->unknown_function;
    if (t->ncalls == RAW_CALLS)
        return "too many open calls";
    GROW(t->calls, t->calls_cap, t->ncalls + 1);
    t->calls[t->ncalls++] = call;
    t->call_waits = false;
    if (call.function == FUNCTION_NONE || (place & PLACE_CALL_TRACED && !(arg & CALL_KNOWN)))
        drop_call(r, t);
    else if (arg & CALL_KNOWN)
        show_call(r, t);
    else
        t->call_waits = true;
    return NULL;
}

/* Calls that were left by an exception or longjmp end with the one around them. */
static void take_return(struct raw_reader *r, struct raw_thread *t, uint64_t site, uint64_t value)
{
    size_t n = t->ncalls;
    bool shown = true; /* of a function that the runtime stands for there is no call */
    struct event *ev;

    while (n && t->calls[n - 1].site != (uint32_t)site)
        n--;
    while (n && t->ncalls >= n) {
        const struct raw_call *call = &t->calls[--t->ncalls];

        shown = call->shown;
        show_return(r, t, call, site_of(r, (uint32_t)site));
    }
    if (!shown || site == CALL_HIDDEN || r->ring->header->mode != RING_MODE_FULL)
        return;
    ev = new_event(r, t, OP_RESULT, 0, site_of(r, (uint32_t)site), 0);
    ev->flags = EV_VALUE;
    ev->value = value;
}

/* The thread is still where it waited for a lock. */
static void show_request(struct raw_reader *r, struct raw_thread *t)
{
    bool shared = ring_arg(t->waits[0]) == OP_ACQUIRE_SHARED;

    if (ring_low(t->waits[0]) && !t->ended)
        new_event(r, t, shared ? OP_REQUEST_SHARED : OP_REQUEST, ring_low(t->waits[0]),
                  site_of(r, t->waits[1]), 0);
    t->waits[0] = 0;
}

void raw_finish(struct raw_reader *r, struct raw_thread *t)
{
    if (t->call_waits)
        show_call(r, t);
    show_objects(r, t, SITE_NONE);
    show_request(r, t);
    flush(r);
}

/* ---- frames ---- */

/* The depth at which the thread's innermost frame begins; of frames that were not kept, a guess. */
static uint32_t depth_of_top(const struct raw_thread *t)
{
    if (t->depth <= RAW_DEPTH)
        return t->stack[t->depth - 1].depth;
    return t->stack[RAW_DEPTH - 1].depth + (uint32_t)(t->depth - RAW_DEPTH);
}

static void leave_frame(struct raw_reader *r, struct raw_thread *t)
{
    struct raw_frame frame = { r->places->unknown_function, SITE_NONE, 0 };

    if (--t->depth < RAW_DEPTH)
        frame = t->stack[t->depth];
    new_event(r, t, OP_EXIT, frame.function, frame.site, 0);
}

/* Leaves what the program's stack at this depth does not have. */
static void leave_to(struct raw_reader *r, struct raw_thread *t, uint32_t depth)
{
    while (t->depth && depth_of_top(t) >= depth)
        leave_frame(r, t);
}

/* The frame is known already: the recording began inside of it. */
static bool is_top(const struct raw_thread *t, const struct raw_frame *f)
{
    const struct raw_frame *top = t->depth ? &t->stack[t->depth - 1] : NULL;

    return top && t->depth <= RAW_DEPTH && top->depth == f->depth && top->function == f->function &&
           top->site == f->site;
}

/* The depth of a frame that is entered now, if nothing was left unseen. */
static uint32_t next_depth(const struct raw_thread *t)
{
    return t->depth ? depth_of_top(t) + 1 : 0;
}

static void push_frame(struct raw_thread *t, struct raw_frame frame)
{
    if (t->depth < RAW_DEPTH) {
        GROW(t->stack, t->stack_cap, t->depth + 1);
        t->stack[t->depth] = frame;
    }
    t->depth++;
}

/* A frame whose depth is known: what is as deep was left. */
static void enter_at(struct raw_reader *r, struct raw_thread *t, struct raw_frame frame,
                     uint64_t back)
{
    if (is_top(t, &frame))
        return;
    leave_to(r, t, frame.depth);
    new_event(r, t, OP_ENTER, frame.function, site_of(r, WHERE_PC | back), 0);
    push_frame(t, frame);
}

static void take_enter(struct raw_reader *r, struct raw_thread *t, uint64_t word, uint64_t where)
{
    uint64_t place = place_of(r, entered_at(word, where)), back = ring_low(word);
    struct raw_frame frame = { place_function(place), place_site(place), next_depth(t) };

    if (frame.function == FUNCTION_NONE)
        frame.function = r->places->unknown_function;
    if (ring_arg(word) & ENTER_DEPTH) {
        frame.depth = (uint32_t)(where >> 32);
        enter_at(r, t, frame, back);
        return;
    }
    new_event(r, t, OP_ENTER, frame.function, site_of(r, WHERE_PC | back), 0);
    push_frame(t, frame);
}

static void take_exits(struct raw_reader *r, struct raw_thread *t, uint64_t word)
{
    if (ring_arg(word) & EXIT_TO)
        leave_to(r, t, (uint32_t)word);
    else
        for (uint64_t n = ring_low(word); n && t->depth; n--)
            leave_frame(r, t);
}

/* ---- frames of stretches ---- */

/* Records have 16 bits of a depth: of those that may be meant, the one nearest to `near`. */
static uint32_t whole_depth(uint32_t near, uint64_t low)
{
    int64_t depth = (int64_t)near + (int16_t)((uint16_t)low - (uint16_t)near);

    return depth < 0 ? (uint16_t)low : (uint32_t)depth;
}

static struct raw_frame frame_of(const struct raw_reader *r, const struct raw_thread *t,
                                 const uint64_t *w)
{
    uint64_t place = entry_of(r->places->frame_pages, w[0]);

    return (struct raw_frame){ place_function(place), place_site(place),
                               whole_depth(next_depth(t), w[1] >> STRETCH_DEPTH_SHIFT) };
}

/* Does the program want accesses not to count? */
static bool leaves_out(const struct raw_reader *r, const struct raw_thread *t)
{
    return t->ignoring || __atomic_load_n(&r->ring->header->nbenign, __ATOMIC_ACQUIRE);
}

static bool counts(const struct raw_reader *r, const struct raw_thread *t, uint64_t address,
                   uint64_t bytes)
{
    const struct ring_header *h = r->ring->header;
    uint64_t n = __atomic_load_n(&h->nbenign, __ATOMIC_ACQUIRE);

    for (uint64_t i = 0; i < n && i < RING_BENIGN_MAX; i++)
        if (address - h->benign[i].address < h->benign[i].bytes &&
            address - h->benign[i].address + bytes <= h->benign[i].bytes)
            return false;
    return !t->ignoring;
}

/* An event of a stretch's record that goes the long way. */
static void take_expanded(struct raw_reader *r, struct raw_thread *t, const uint64_t *w,
                          const struct event *ev)
{
    uint32_t top = t->depth ? depth_of_top(t) : 0;
    unsigned frame = stretch_entry_frame(entry_of(r->places->stretch_pages, w[0]));

    if (ev->op == OP_ENTER)
        enter_at(r, t, frame_of(r, t, w), ring_low(w[1]));
    else if (ev->op == OP_EXIT) /* of the frame that the record entered, or says the depth of */
        leave_to(r, t, frame & FRAME_ENTERED ? top : whole_depth(top, w[0] >> STRETCH_LEFT_SHIFT));
    else if (ev->op == OP_BRANCH ? !t->ignoring : counts(r, t, ev->target, ev->size))
        *new_event(r, t, ev->op, ev->target, ev->site, 0) = *ev;
}

static uint32_t caller_site(struct raw_reader *r, uint64_t pc)
{
    struct raw_caller *c = &r->callers[(pc ^ pc >> 8) % RAW_CALLERS];
    uint32_t generation = __atomic_load_n(&r->places->generation, __ATOMIC_ACQUIRE);

    if (__builtin_expect(c->pc != pc || c->generation != generation, 0))
        *c = (struct raw_caller){ pc, place_site(places_find_pc(r->places, &r->pcs, pc)),
                                  generation };
    return c->site;
}

/* A record that enters: the file has the call's site instead of the address. */
static bool take_entered(struct raw_reader *r, struct raw_thread *t, uint64_t *w, bool leaves)
{
    if (t->depth >= RAW_DEPTH || (uint16_t)(w[1] >> STRETCH_DEPTH_SHIFT) != (uint16_t)next_depth(t))
        return false;
    if (!leaves)
        push_frame(t, frame_of(r, t, w));
    w[1] = caller_site(r, ring_low(w[1]));
    return true;
}

/* One that only leaves: it needs no depth. */
static bool take_left(const struct raw_reader *r, struct raw_thread *t, uint64_t *w)
{
    const struct raw_frame *top = t->depth ? &t->stack[t->depth - 1] : NULL;

    if (!top || t->depth > RAW_DEPTH ||
        (uint16_t)(w[0] >> STRETCH_LEFT_SHIFT) != (uint16_t)top->depth ||
        top->function != place_function(entry_of(r->places->frame_pages, w[0])))
        return false;
    t->depth--;
    w[0] &= ~(UINT64_C(0xffff) << STRETCH_LEFT_SHIFT);
    return true;
}

/* ---- moves ---- */

static uint64_t move_slot(uint64_t word)
{
    return word & ((1u << MOVE_BITS) - 1);
}

static struct raw_move *move_at(const struct raw_thread *t, uint64_t word)
{
    uint64_t slot = move_slot(word);

    return slot < t->moves_cap && t->moves[slot].frames ? &t->moves[slot] : NULL;
}

/* The thread's stack afterwards; never more than the runtime's. */
static void move_stack(struct raw_thread *t, const struct raw_move *m)
{
    t->depth -= m->left < t->depth ? m->left : t->depth;
    for (unsigned i = 0; i < m->entered && t->depth < RAW_DEPTH; i++) {
        GROW(t->stack, t->stack_cap, t->depth + 1);
        t->stack[t->depth] = m->frames[i];
        t->stack[t->depth].depth = next_depth(t);
        t->depth++;
    }
}

/* What the frames left are called is on the thread's own stack. */
static unsigned add_left(const struct raw_reader *r, const struct raw_thread *t, unsigned left,
                         struct move_frame *out)
{
    for (unsigned i = 0; i < left; i++) {
        size_t at = t->depth - 1 - i;

        out[i] = i < t->depth && at < RAW_DEPTH
                     ? (struct move_frame){ t->stack[at].function, t->stack[at].site }
                     : (struct move_frame){ r->places->unknown_function, SITE_NONE };
    }
    return left;
}

/* Of a new move: the frames entered, and all of them as events have them. */
static void read_move(struct raw_reader *r, const uint64_t *w, struct raw_move *m,
                      struct move_frame *out)
{
    for (unsigned i = 0; i < m->entered; i++) {
        uint64_t place = place_of(r, w[2 + 2 * i]);
        uint32_t function = place_function(place);

        if (function == FUNCTION_NONE)
            function = r->places->unknown_function;
        m->frames[i] = (struct raw_frame){ function, place_site(place), 0 };
        out[i] = (struct move_frame){ function, site_of(r, WHERE_PC | (w[1 + 2 * i] & RING_LOW)) };
    }
}

static const char *take_new_move(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    struct raw_move m = { .left = w[0] >> 16 & 0xff, .entered = w[0] >> 24 & 0xff };
    struct move_frame frames[MOVE_LEFT_MAX + MOVE_ENTERED_MAX];
    uint64_t slot = move_slot(w[0]);

    if (m.left > MOVE_LEFT_MAX || m.entered > MOVE_ENTERED_MAX || !(m.left + m.entered))
        return "impossible move";
    m.frames = xcalloc(m.entered + (size_t)1, sizeof(*m.frames));
    read_move(r, w, &m, frames + add_left(r, t, m.left, frames));
    m.number = places_move(r->places, frames, m.left, m.entered);
    if (slot >= t->moves_cap)
        GROW(t->moves, t->moves_cap, slot + 1);
    free(t->moves[slot].frames);
    t->moves[slot] = m;
    return NULL;
}

static const char *take_move(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    const char *fault = ring_arg(w[0]) & MOVE_NEW ? take_new_move(r, t, w) : NULL;
    const struct raw_move *m = fault ? NULL : move_at(t, w[0]);

    if (!m)
        return fault ? fault : "unknown move";
    new_event(r, t, OP_MOVE, m->number, SITE_NONE, 0)->size = (uint32_t)m->left + m->entered;
    move_stack(t, m);
    return NULL;
}

/* ---- other records ---- */

static const char *take_range(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    uint64_t address = ring_low(w[0]), bytes = w[2];
    unsigned op = ring_arg(w[0]) & ACCESS_WRITE ? OP_WRITE : OP_READ;
    uint32_t site;

    if (bytes > RANGE_MAX)
        return "impossible range";
    site = site_of(r, w[1]);
    while (bytes) {
        uint64_t n = bytes < ACCESS_MAX_BYTES ? bytes : ACCESS_MAX_BYTES;

        new_event(r, t, op, address, site, 0)->size = (uint32_t)n;
        address += n;
        bytes -= n;
    }
    return NULL;
}

static const char *take_sync(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    unsigned op = ring_arg(w[0]);
    uint64_t target = ring_low(w[0]);
    bool marked = ring_may_be_marked(op) && target & RING_MARK;

    if (op < OP_ACQUIRE || op > OP_AFTER)
        return "unknown kind of synchronisation";
    if (marked)
        target &= ~RING_MARK;
    if (op == OP_FORK || op == OP_JOIN) {
        if (!ring_knows_thread(r->ring, target))
            return "impossible thread";
        places_name_thread(r->places, (uint32_t)target);
    }
    if (op == OP_BEGIN || op == OP_END)
        target = 0;
    new_event(r, t, op, target, site_of(r, w[1]), w[2])->flags = marked ? EV_BARE : 0;
    if (op == OP_BEGIN)
        t->ended = false;
    if (op == OP_END)
        t->ended = true;
    return NULL;
}

static const char *take_atomic(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    unsigned arg = ring_arg(w[0]), op = OP_LOAD + (arg & 3), log = arg >> 2 & 15;
    unsigned values = arg >> 6, order = w[2] & 0xff;
    uint64_t place;
    struct event *ev;

    if (op > OP_RMW || log > 4 || values > 2 || order < ORDER_RELAXED || order > ORDER_SEQ_CST)
        return "unknown kind of atomic operation";
    place = place_of(r, w[1]);
    ev = new_event(r, t, op, ring_low(w[0]), place_site(place), w[2] >> 8);
    ev->size = 1u << log;
    ev->order = (uint8_t)order;
    ev->flags = place & PLACE_LOOSE ? EV_LOOSE : 0;
    if (values)
        ev->flags |= EV_VALUE;
    if (values == 2 && op == OP_RMW)
        ev->flags |= EV_OLD;
    ev->value = values ? w[3] : 0;
    ev->old = ev->flags & EV_OLD ? w[4] : 0;
    return NULL;
}

static const char *take_memory(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    unsigned op = ring_arg(w[0]);
    uint64_t bytes = w[2];

    if ((op != OP_ALLOC && op != OP_FREE) || bytes > RING_LOW)
        return "impossible allocation";
    if (op == OP_ALLOC && !bytes)
        bytes = 1;
    new_event(r, t, op, ring_low(w[0]), site_of(r, w[1]), w[3])->value = bytes;
    return NULL;
}

static const char *take_fence(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    unsigned order = ring_arg(w[0]);

    if (order < ORDER_RELAXED || order > ORDER_SEQ_CST)
        return "unknown memory order";
    new_event(r, t, OP_FENCE, 0, site_of(r, w[1]), 0)->order = (uint8_t)order;
    return NULL;
}

static void take_branch(struct raw_reader *r, struct raw_thread *t, uint64_t word)
{
    uint32_t site = place_site(places_site(r->places, (uint32_t)word));
    struct event *ev = new_event(r, t, OP_BRANCH, 0, site, 0);

    ev->flags = EV_VALUE;
    ev->value = word >> 32 & 0xffff;
}

/* Stamps carry 48 bits; the chunk's own has all. They never go back within a thread. */
static void take_stamp(const struct raw_reader *r, struct raw_thread *t, uint64_t start,
                       uint64_t low)
{
    uint64_t ahead = (low - start) & RING_LOW, ns;

    if (ahead >> 47)
        return; /* before the start of the chunk */
    ns = clock_ns(r->clock, start + ahead);
    if (ns > t->stamp)
        t->stamp = ns;
}

/* The accesses of ACCESS_STEPS one by one; `ev` is the first. */
static const char *take_steps(struct raw_reader *r, struct raw_thread *t, struct event ev,
                              uint64_t word)
{
    unsigned n = ring_steps(word);

    if (n < 2 || n > STEPS_MAX)
        return "impossible steps";
    while (--n) {
        ev.target = (ev.target + (uint64_t)ring_step(word)) & RING_LOW;
        struct event *next = new_event(r, t, ev.op, ev.target, ev.site, 0);

        next->size = ev.size;
        next->flags = ev.flags;
    }
    return NULL;
}

static const char *take_access(struct raw_reader *r, struct raw_thread *t, const uint64_t *w)
{
    unsigned arg = ring_arg(w[0]), log = arg >> ACCESS_SIZE_SHIFT & 7;
    uint64_t place;
    struct event *ev;

    if (__builtin_expect(log > 4, 0))
        return "impossible access";
    if (__builtin_expect(arg & ACCESS_PC, 0))
        place = place_of(r, w[1]);
    else
        place = places_site(r->places, (uint32_t)w[1]);
    ev = new_event(r, t, arg & ACCESS_WRITE ? OP_WRITE : OP_READ, ring_low(w[0]), place_site(place),
                   0);
    ev->size = 1u << log;
    ev->flags = place & PLACE_LOOSE ? EV_LOOSE : 0;
    if ((arg & ACCESS_STEPS) == ACCESS_STEPS)
        return arg & ACCESS_PC ? "impossible steps" : take_steps(r, t, *ev, w[1]);
    if (arg & ACCESS_RUN) {
        if (arg & ACCESS_PC || w[1] >> 32 > ACCESS_MAX_BYTES || w[1] >> 32 == 0)
            return "impossible run";
        ev->size = (uint32_t)(w[1] >> 32);
    } else if (arg & ACCESS_VALUE64) {
        ev->flags |= EV_VALUE;
        ev->value = w[2];
    } else if ((arg & (ACCESS_VALUE32 | ACCESS_PC)) == ACCESS_VALUE32) {
        ev->flags |= EV_VALUE;
        ev->value = w[1] >> 32;
    }
    return NULL;
}

/* Words of the record that starts with `word`; 0: there is no such record. */
static inline size_t record_words(uint64_t word)
{
    static const uint8_t words[] = {
        [R_STAMP] = 1, [R_ACCESS] = 2, [R_RANGE] = 3,  [R_ENTER] = 2,  [R_EXIT] = 1,
        [R_SYNC] = 3,  [R_ATOMIC] = 3, [R_FENCE] = 2,  [R_MEMORY] = 4, [R_BRANCH] = 1,
        [R_CALL] = 2,  [R_RETURN] = 3, [R_LOST] = 1,   [R_END] = 1,    [R_OBJECT] = 3,
        [R_LINK] = 3,  [R_MOVE] = 1,   [R_IGNORE] = 1, [R_WAIT] = 2,
    };
    unsigned kind = ring_kind(word);
    size_t n;

    if (kind & STRETCH_MARK)
        return kind & ~(unsigned)STRETCH_MARK;
    if (kind == R_ACCESS)
        return 2 + (ring_arg(word) & ACCESS_VALUE64 ? 1 : 0);
    n = kind < sizeof(words) ? words[kind] : 0;
    if (kind == R_ATOMIC)
        n += ring_arg(word) >> 6;
    else if (kind == R_MOVE && ring_arg(word) & MOVE_NEW)
        n += 2 * (word >> 24 & 0xff);
    else if (kind == R_CALL)
        n += ring_low(word) < RING_CHUNK_BYTES ? (size_t)ring_low(word) : RING_CHUNK_BYTES;
    return n;
}

/* The same of a record in memory, where the third word may say how long it is. */
static size_t words_of(const uint64_t *w, const uint64_t *end)
{
    size_t n = record_words(*w);

    if (ring_kind(*w) == R_OBJECT && end - w >= 3)
        n += 2 * (size_t)(w[2] < RING_CHUNK_BYTES ? w[2] : RING_CHUNK_BYTES);
    return n;
}

static const char *take_record(struct raw_reader *r, struct raw_thread *t, const uint64_t *w,
                               uint64_t start)
{
    switch (ring_kind(w[0])) {
    case R_STAMP:
        take_stamp(r, t, start, ring_low(w[0]));
        return NULL;
    case R_ACCESS:
        if (leaves_out(r, t) &&
            !counts(r, t, ring_low(w[0]), UINT64_C(1) << (ring_arg(w[0]) >> 1 & 7)))
            return NULL;
        return take_access(r, t, w);
    case R_RANGE:
        return take_range(r, t, w);
    case R_ENTER:
        take_enter(r, t, w[0], w[1]);
        return NULL;
    case R_EXIT:
        take_exits(r, t, w[0]);
        return NULL;
    case R_SYNC:
        return take_sync(r, t, w);
    case R_ATOMIC:
        return take_atomic(r, t, w);
    case R_FENCE:
        return take_fence(r, t, w);
    case R_MEMORY:
        return take_memory(r, t, w);
    case R_BRANCH:
        if (!t->ignoring)
            take_branch(r, t, w[0]);
        return NULL;
    case R_CALL:
        return take_call(r, t, w, ring_low(w[0]));
    case R_RETURN:
        if (ring_arg(w[0]) & RETURN_AWAY)
            take_away(r, t);
        else
            take_return(r, t, w[1], w[2]);
        return NULL;
    case R_LOST:
        t->lost += ring_low(w[0]);
        return NULL;
    case R_MOVE:
        return take_move(r, t, w);
    case R_OBJECT:
        return take_object(r, t, w);
    case R_LINK:
        take_link(r, t, w);
        return NULL;
    case R_IGNORE:
        t->ignoring = ring_low(w[0]);
        return NULL;
    case R_WAIT:
        t->waits[0] = w[0];
        t->waits[1] = w[1];
        return NULL;
    default: /* R_END */
        return NULL;
    }
}

/* Going over to records and back to events costs as much as some events: are RUN_LEAST in a row
 * ahead? */
static inline bool is_run_ahead(const uint64_t *w, const uint64_t *end)
{
    const unsigned common = 1u << R_STAMP | 1u << R_ACCESS | 1u << R_RANGE | 1u << R_SYNC |
                            1u << R_ATOMIC | 1u << R_MEMORY | 1u << R_BRANCH | 1u << R_MOVE;

    for (size_t i = 0; i < RUN_LEAST; i++, w += record_words(*w)) {
        unsigned kind = w < end ? ring_kind(w[0]) : R_END;

        if (kind > R_MOVE || !(common >> kind & 1) ||
            (kind == R_MOVE && ring_arg(w[0]) & MOVE_NEW) ||
            (kind == R_ATOMIC && ring_arg(w[0]) >> 6))
            return false;
    }
    return true;
}

/* The time of records in a run, moves, addresses: of which thread, in which chunk. */
struct stamper {
    struct raw_reader *reader;
    struct raw_thread *thread;
    uint64_t start;
};

static uint64_t stamp_of(void *arg, uint64_t word)
{
    const struct stamper *s = arg;

    take_stamp(s->reader, s->thread, s->start, ring_low(word));
    return s->thread->stamp;
}

static bool move_is_known(void *arg, uint64_t word)
{
    const struct stamper *s = arg;

    return move_at(s->thread, word) != NULL;
}

static uint64_t move_of(void *arg, uint64_t word)
{
    const struct stamper *s = arg;
    const struct raw_move *m = move_at(s->thread, word);

    if (!m)
        return 0;
    move_stack(s->thread, m);
    return m->number | (uint64_t)(m->left + m->entered) << 32;
}

static uint32_t pc_site(void *arg, uint64_t pc)
{
    const struct stamper *s = arg;

    return place_site(places_find_pc(s->reader->places, &s->reader->pcs, pc));
}

/* False: frames were left unseen; then the record's events go the long way. */
static bool take_frame(void *arg, uint64_t *w, unsigned frame)
{
    const struct stamper *s = arg;

    if (frame & FRAME_ENTERED)
        return take_entered(s->reader, s->thread, w, frame & FRAME_LEFT);
    return take_left(s->reader, s->thread, w);
}

/* Most of a chunk, in one go, up to the first other record. Returns where it stopped; `refused`: at
 * a known stretch whose events must go the long way. */
static uint64_t *take_common(struct raw_reader *r, struct raw_thread *t, uint64_t start,
                             uint64_t *w, const uint64_t *end, bool *refused)
{
    struct stamper stamper = { r, t, start };
    struct raw_run run = { .at = w,
                           .end = end,
                           .thread = t->thread,
                           .stamp = t->stamp,
                           .pages = r->places->pages,
                           .stretch_pages = r->places->stretch_pages,
                           .page_bits = PLACE_PAGE_BITS,
                           .stamp_of = stamp_of,
                           .move_of = move_of,
                           .move_is_known = move_is_known,
                           .pc_site = pc_site,
                           .take_frame = take_frame,
                           .arg = &stamper };

    *refused = false;
    if (!is_run_ahead(w, end) && !raw_run_is_stretch(&run))
        return w;
    flush(r);
    r->take_run(r->arg, &run);
    *refused = run.refused;
    return run.at;
}

size_t raw_words(const struct chunk_copy *c, size_t at)
{
    return words_of(c->data + at, c->data + c->words);
}

size_t raw_record_at(const struct chunk_copy *c, size_t from, size_t to)
{
    while (from < to) {
        size_t n = words_of(c->data + from, c->data + c->words);

        if (!n || n > to - from)
            return n ? from : to; /* what is no record ends decoding, wherever */
        from += n;
    }
    return to;
}

unsigned raw_decode_part(struct raw_reader *r, struct raw_thread *t, const struct chunk_copy *c,
                         size_t at, unsigned done, size_t to)
{
    const uint64_t *w = c->data + at;
    struct event events[STRETCH_ACCESSES_MAX + 1];
    unsigned n;

    if (!ring_is_stretch(*w) || find_stretch(r, *w))
        return done;
    if (t->call_waits)
        settle_call(r, t, w);
    n = places_expand(r->places, (uint32_t)entry_of(r->places->stretch_pages, *w), w, 8 * (to - at),
                      t->thread, events);
    for (; done < n; done++)
        take_expanded(r, t, w, &events[done]);
    flush(r);
    return done;
}

/* Code makes the last record longer before it moves the cursor: then it is complete, too. */
static const uint64_t *end_of_longer(const struct chunk_copy *c, const uint64_t *w,
                                     const uint64_t *end)
{
    size_t n = words_of(w, end);

    return ring_is_stretch(*w) && end == c->data + c->words && n <= c->room - (size_t)(w - c->data)
               ? w + n
               : end;
}

const char *raw_decode(struct raw_reader *r, struct raw_thread *t, struct chunk_copy *c,
                       size_t from, size_t to)
{
    uint64_t *w = c->data + from;
    const uint64_t *end = c->data + to;
    const char *fault = NULL;

    if (!from)
        take_stamp(r, t, c->head.tsc_start, c->head.tsc_start);
    while (w < end && !fault) {
        bool refused = false;
        size_t n;

        if (__builtin_expect(!t->call_waits && !leaves_out(r, t), 1)) {
            w = take_common(r, t, c->head.tsc_start, w, end, &refused);
            if (w == end)
                break;
        }
        n = words_of(w, end);
        if (__builtin_expect(n > (size_t)(end - w), 0))
            end = end_of_longer(c, w, end);
        if (!n || n > (size_t)(end - w)) {
            fault = "unknown or cut record";
            break;
        }
        if (__builtin_expect(t->call_waits, 0) && *w >> 56 != R_STAMP)
            settle_call(r, t, w);
        if (!refused &&
            ring_is_stretch(*w)) { /* once it is known, take_common() takes it, or refuses */
            fault = find_stretch(r, *w);
            refused = leaves_out(r, t);
            if (!refused || fault)
                continue;
        }
        if (refused) {
            raw_decode_part(r, t, c, (size_t)(w - c->data), 0, (size_t)(w - c->data) + n);
            w += n;
            continue;
        }
        fault = take_record(r, t, w, c->head.tsc_start);
        w += n;
    }
    flush(r);
    return fault;
}
