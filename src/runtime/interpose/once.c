/* once.c - pthread_once, C11's call_once, and C++'s guards of local statics
 *
 * Who initialises publishes when it is done and before anybody can know, all
 * others learn that: BEFORE and AFTER on the object. (ONCE, whose first event
 * on an object is the initialisation, would be wrong for memory used again:
 * std::promise keeps a once_flag on the heap.)
 *
 * pthread_once() gets a function of ours in place of the program's, which finds
 * its orders through a thread-local pointer. std::call_once() of libstdc++ comes
 * here too. An exception or a cancellation out of the program's function passes
 * through: then it is published that the attempt is over, before the C library
 * lets the next one begin, and who begins learns of earlier attempts.
 *
 * __cxa_guard_*: ours replace those of the C++ library, which may not be within
 * reach (a plugin in C++ loaded by a program in C). The first byte of the guard
 * is 1 when the object is there; compiled code reads it before it calls, as an
 * atomic load with acquire, so it is written by a recorded atomic store. The
 * same word as in libstdc++ (Itanium C++ ABI 3.3.3): DONE, PENDING, WAITED.
 *
 * std::call_once() of libc++: its headers look at the flag, and call a function of the library for
 * the rest. That is replaced in the same way.
 */
#include "runtime/interpose/interpose.h"

#include <linux/futex.h>
#include <threads.h>
#include <unwind.h>

struct order {
    void (*function)(void);
    const void *control;
    uint64_t where;
    bool ran;
    struct order *outer;
    uint64_t *flag; /* libc++'s, to be reset when the function is left */
};

static _Thread_local struct order *pending __attribute__((tls_model("initial-exec")));

/* Initialisations completed so far, of anything: while it stands still, who has learned from an
 * object has nothing more to learn from it. */
static uint64_t completed;

enum { SEEN = 16 }; /* objects that a thread remembers; programs ask for few of them often */
static _Thread_local struct {
    const void *control;
    uint64_t completed;
    uint32_t thread;
} seen[SEEN] __attribute__((tls_model("initial-exec")));

/* Before anybody can know that the object is initialised. */
static void publish(const void *control, uint64_t where)
{
    rt_sync(OP_BEFORE, control, where);
    __atomic_fetch_add(&completed, 1, __ATOMIC_SEQ_CST);
}

/* After the object was found initialised. */
static void once_learn(const void *control, uint64_t where)
{
    uint64_t now = __atomic_load_n(&completed, __ATOMIC_SEQ_CST);
    unsigned i = (uintptr_t)control / 8 % SEEN;
    uint32_t thread = rt_thread_number();

    if (seen[i].control == control && seen[i].completed == now && seen[i].thread == thread)
        return;
    rt_sync(OP_AFTER, control, where);
    seen[i].control = control;
    seen[i].completed = now;
    seen[i].thread = thread;
}

static void flag_set(uint64_t *flag, uint64_t state);

/* The personality of once_run(): the unwinder calls it when an exception, a cancellation or the end
 * of the thread leaves that frame. */
__attribute__((used)) _Unwind_Reason_Code rt_once_left(int version, _Unwind_Action actions,
                                                       uint64_t kind, struct _Unwind_Exception *e,
                                                       struct _Unwind_Context *context);
_Unwind_Reason_Code rt_once_left(int version, _Unwind_Action actions, uint64_t kind,
                                 struct _Unwind_Exception *e, struct _Unwind_Context *context)
{
    (void)version;
    (void)kind;
    (void)e;
    (void)context;
    if (actions & _UA_CLEANUP_PHASE) {
        publish(pending->control, pending->where);
        if (pending->flag)
            flag_set(pending->flag, 0);
        pending = pending->outer;
    }
    return _URC_CONTINUE_UNWIND;
}

static void once_run(void)
{
    struct order *o = pending;

    __asm__ volatile(".cfi_personality 0x1b, rt_once_left"); /* 4 bytes, relative */
    o->ran = true;
    rt_sync(OP_AFTER, o->control, o->where); /* of attempts that failed */
    o->function(); /* may come here again for another object, or not return */
    publish(o->control, o->where);
}

INTERPOSE(int, pthread_once, pthread_once_t *control, void (*function)(void))
{
    struct order o = { function, control, WHERE_CALLER(), false, pending, NULL };
    int r;

    pending = &o;
    r = REAL(pthread_once)(control, once_run);
    pending = o.outer;
    if (!o.ran && r == 0)
        once_learn(control, o.where);
    return r;
}

INTERPOSE(void, call_once, once_flag *control, void (*function)(void))
{
    struct order o = { function, control, WHERE_CALLER(), false, pending, NULL };

    pending = &o;
    REAL(call_once)(control, once_run);
    pending = o.outer;
    if (!o.ran)
        once_learn(control, o.where);
}

/* ---- C++ ---- */

enum { DONE = 1, PENDING = 1 << 8, WAITED = 1 << 16 };

static void futex(uint32_t *word, int op, uint32_t value)
{
    int saved = errno;

    syscall(SYS_futex, word, op, value, NULL, NULL, 0L);
    errno = saved;
}

/* True: the caller initialises. */
static bool guard_take(uint32_t *word)
{
    uint32_t w = 0;

    for (;;) {
        if (__atomic_compare_exchange_n(word, &w, PENDING, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return true;
        if (w & DONE)
            return false;
        if (!(w & WAITED) && !__atomic_compare_exchange_n(word, &w, w | WAITED, false,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            w = 0;
            continue;
        }
        futex(word, FUTEX_WAIT_PRIVATE, PENDING | WAITED);
        w = 0;
    }
}

static void guard_give(uint32_t *word, uint32_t state)
{
    if (__atomic_exchange_n(word, state, __ATOMIC_ACQ_REL) & WAITED)
        futex(word, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

REPLACE(int, __cxa_guard_acquire, uint64_t *guard)
{
    if (!(__atomic_load_n((uint8_t *)guard, __ATOMIC_ACQUIRE) & DONE) &&
        guard_take((uint32_t *)guard))
        return 1;
    once_learn(guard, WHERE_CALLER());
    return 0;
}

REPLACE(void, __cxa_guard_release, uint64_t *guard)
{
    publish(guard, WHERE_CALLER());
    rt_atomic_store_1((uint8_t *)guard, DONE, ORDER_RELEASE, WHERE_CALLER());
    guard_give((uint32_t *)guard, DONE);
}

REPLACE(void, __cxa_guard_abort, uint64_t *guard)
{
    guard_give((uint32_t *)guard, 0);
}

/* ---- libc++ ---- */

enum { FLAG_PENDING = 1 };
#define FLAG_DONE (~UINT64_C(0))

HIDDEN void rt_atomic_store_8(uint64_t *p, uint64_t value, unsigned order, uint64_t where);

/* All that wait look again. The low half of the flag is its futex. */
static void flag_set(uint64_t *flag, uint64_t state)
{
    rt_atomic_store_8(flag, state, ORDER_RELEASE, where_inside((const void *)flag_set));
    futex((uint32_t *)flag, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

/* True: the caller calls the function. */
static bool flag_take(uint64_t *flag)
{
    for (;;) {
        uint64_t state = 0;
        if (__atomic_compare_exchange_n(flag, &state, FLAG_PENDING, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return true;
        if (state == FLAG_DONE)
            return false;
        futex((uint32_t *)flag, FUTEX_WAIT_PRIVATE, FLAG_PENDING);
    }
}

static __attribute__((noinline)) void run_with(void (*function)(void *), void *argument)
{
    __asm__ volatile(".cfi_personality 0x1b, rt_once_left");
    rt_sync(OP_AFTER, pending->control, pending->where); /* of attempts that failed */
    function(argument);
    publish(pending->control, pending->where); /* also keeps this frame: no tail call */
}

/* void std::__1::__call_once(unsigned long volatile &, void *, void (*)(void *)) */
REPLACE(void, _ZNSt3__111__call_onceERVmPvPFvS2_E, uint64_t *flag, void *argument,
        void (*function)(void *))
{
    struct order o = { NULL, flag, WHERE_CALLER(), true, pending, flag };

    if (!flag_take(flag)) {
        once_learn(flag, o.where);
        return;
    }
    pending = &o;
    run_with(function, argument);
    pending = o.outer;
    flag_set(flag, FLAG_DONE);
}
