/* future.c - promises of libstdc++ that are kept when their thread ends
 *
 * promise::set_value_at_thread_exit() and packaged_task::make_ready_at_thread_exit() leave a note
 * with the library: a list element with a function, which the library calls when the thread ends.
 * That function makes the state ready and lets go of it, inside the library, whose atomic
 * operations are not seen. (All other operations of futures are in the headers.) So the note gets a
 * function of ours, which does the same first with recorded operations, and holds the state
 * while the library's function runs: what is freed is freed here, behind a recorded decrement.
 *
 * The layouts are part of libstdc++'s ABI: __at_thread_exit_elt and a weak_ptr in the note
 * (future.cc), the status behind a pointer to the virtual functions and one to the result, the
 * counts behind the virtual functions of _Sp_counted_base. The state's memory is there as long as
 * the note is: make_shared has put it and the counts into one block.
 */
#include "runtime/interpose/interpose.h"

#ifndef HEDDLE_STATIC

HIDDEN uint32_t rt_atomic_or_4(uint32_t *p, uint32_t v, unsigned order, uint64_t where);
HIDDEN uint32_t rt_atomic_add_4(uint32_t *p, uint32_t v, unsigned order, uint64_t where);
HIDDEN uint32_t rt_atomic_cas_4(uint32_t *p, uint32_t expected, uint32_t desired, unsigned order,
                                unsigned failure, uint64_t where);

struct counts {
    void (*const *functions)(struct counts *);
    uint32_t uses, weak_uses; /* all owners together count as one more weak one */
};
enum { FUNCTION_DISPOSE = 2, FUNCTION_DESTROY = 3 };

struct state {
    const void *functions;
    void *result;
    uint32_t status;
};
enum { STATUS_READY = 1 };

struct note {
    struct note *next;
    void (*function)(void *);
    struct state *state;
    struct counts *counts;
};

static void (*library_function)(void *);

/* As weak_ptr::lock(). */
static bool future_take(struct counts *c, uint64_t where)
{
    uint32_t n = __atomic_load_n(&c->uses, __ATOMIC_RELAXED), was;

    while (n) {
        was = rt_atomic_cas_4(&c->uses, n, n + 1, ORDER_ACQ_REL, ORDER_RELAXED, where);
        if (was == n)
            return true;
        n = was;
    }
    return false;
}

static void drop_weak(struct counts *c, uint64_t where)
{
    if (rt_atomic_add_4(&c->weak_uses, UINT32_MAX, ORDER_ACQ_REL, where) == 1)
        c->functions[FUNCTION_DESTROY](c);
}

static void future_drop(struct counts *c, uint64_t where)
{
    if (rt_atomic_add_4(&c->uses, UINT32_MAX, ORDER_ACQ_REL, where) != 1)
        return;
    c->functions[FUNCTION_DISPOSE](c);
    drop_weak(c, where);
}

/* Who waits has left a bit in the status: it stays, so that the library wakes them. */
static void make_ready(void *p)
{
    uint64_t where = where_inside((const void *)make_ready);
    struct note *n = p;
    struct counts *c = n->counts;
    bool taken;

    rt_atomic_add_4(&c->weak_uses, 1, ORDER_RELAXED, where);
    taken = future_take(c, where);
    if (taken)
        rt_atomic_or_4(&n->state->status, STATUS_READY, ORDER_RELEASE, where);
    __atomic_load_n(&library_function, __ATOMIC_RELAXED)(n);
    if (taken)
        future_drop(c, where);
    drop_weak(c, where);
}

/* std::__future_base::_State_baseV2::_Make_ready::_M_set() */
INTERPOSE(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, struct note *n)
{
    REAL(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv)(n);
    if (!n->state || !n->counts)
        return;
    __atomic_store_n(&library_function, n->function, __ATOMIC_RELAXED);
    n->function = make_ready;
}

#endif
