/* counts.c - reference counts that C++ libraries keep inside
 *
 * Most counts of the C++ libraries are changed in headers, where the compiler's plugin sees them.
 * Two are not, and what they order would be missing, so that the last owner's deletion would race:
 *
 * libc++'s std::weak_ptr: __shared_weak_count::__release_weak() is in libc++.so. Ours does the same
 * with recorded operations.
 *
 * libstdc++'s exceptions: std::exception_ptr and the end of a catch clause give up a reference.
 * Ours gives it up first, recorded. The library's function runs only for the last owner, with the
 * count set back to one: it destroys the exception, behind all recorded decrements. The end of a
 * catch clause cannot be left out, so a reference is held while it runs, and given up behind it.
 * That is done once exceptions are known to be shared; until then only one thread has ever had
 * them.
 *
 * The layouts are part of the libraries' ABI: __shared_weak_count's counts and virtual functions;
 * of __cxa_exception in libstdc++ (unwind-cxx.h) what is below. Exceptions of other languages and
 * of libc++abi are told by their class, and left alone.
 */
#include "runtime/interpose/interpose.h"

#ifndef HEDDLE_STATIC

HIDDEN uint32_t rt_atomic_add_4(uint32_t *p, uint32_t v, unsigned order, uint64_t where);
HIDDEN uint64_t rt_atomic_add_8(uint64_t *p, uint64_t v, unsigned order, uint64_t where);

/* ---- libc++ ---- */

struct weak_count {
    void (*const *functions)(struct weak_count *);
    uint64_t owners, weak_owners; /* less one, both */
};
enum { FUNCTION_ON_ZERO_SHARED_WEAK = 4 };

/* std::__1::__shared_weak_count::__release_weak() */
INTERPOSE(void, _ZNSt3__119__shared_weak_count14__release_weakEv, struct weak_count *c)
{
    if (!rt_recording())
        REAL(_ZNSt3__119__shared_weak_count14__release_weakEv)(c);
    else if (rt_atomic_add_8(&c->weak_owners, UINT64_MAX, ORDER_ACQ_REL, WHERE_CALLER()) == 0)
        c->functions[FUNCTION_ON_ZERO_SHARED_WEAK](c);
}

/* ---- libstdc++ ---- */

#define CLASS_PRIMARY   UINT64_C(0x474e5543432b2b00) /* "GNUCC++" */
#define CLASS_DEPENDENT UINT64_C(0x474e5543432b2b01)

/* __cxa_exception, or __cxa_dependent_exception: what std::rethrow_exception() throws. */
struct exception {
    void *type, *destructor, *unexpected, *terminate;
    struct exception *next;
    int handlers, switch_value;
    void *action, *language, *catch_temp;
    void *primary; /* dependent ones: the thrown object */
    uint64_t class_of;
    void *cleanup;
    uint64_t private[2];
} __attribute__((aligned(16)));
_Static_assert(sizeof(struct exception) == 112, "");

struct globals {
    struct exception *caught;
    unsigned uncaught;
};
struct globals *__cxa_get_globals(void) __attribute__((weak));

/* The count is in front of the exception, which is in front of the thrown object. */
enum { OBJECT_AFTER_COUNT = 128 };

static bool exceptions_are_shared;

static uint32_t *count_of(void *object)
{
    return (uint32_t *)((char *)object - OBJECT_AFTER_COUNT);
}

/* True for the last owner, whose count is then one again. */
static bool give_up(void *object, uint64_t where)
{
    __atomic_store_n(&exceptions_are_shared, true, __ATOMIC_RELAXED);
    if (rt_atomic_add_4(count_of(object), UINT32_MAX, ORDER_ACQ_REL, where) != 1)
        return false;
    __atomic_store_n(count_of(object), 1, __ATOMIC_RELAXED);
    return true;
}

/* std::__exception_ptr::exception_ptr::_M_release() */
INTERPOSE(void, _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv, void **pointer)
{
    if (*pointer && rt_recording() && !give_up(*pointer, WHERE_CALLER()))
        *pointer = NULL;
    if (*pointer)
        REAL(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv)(pointer);
}

/* The object of the exception that the end of this catch clause gives up; NULL: none that is
 * shared. */
static void *object_of_clause(void)
{
    struct globals *g = __cxa_get_globals ? __cxa_get_globals() : NULL;
    struct exception *e = g ? g->caught : NULL;

    if (!e || e->handlers != 1)
        return NULL;
    if (e->class_of == CLASS_DEPENDENT)
        return e->primary;
    if (e->class_of != CLASS_PRIMARY)
        return NULL;
    if (__atomic_load_n(count_of(e + 1), __ATOMIC_RELAXED) > 1)
        return e + 1;
    return __atomic_load_n(&exceptions_are_shared, __ATOMIC_RELAXED) ? e + 1 : NULL;
}

INTERPOSE(void, __cxa_end_catch, void)
{
    uint64_t where = WHERE_CALLER();
    void *object = rt_recording() ? object_of_clause() : NULL;

    if (object)
        __atomic_fetch_add(count_of(object), 1, __ATOMIC_RELAXED);
    REAL(__cxa_end_catch)();
    if (object && give_up(object, where))
        REAL(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv)(&object);
}

#endif
