/* new.c - operator new and delete: the program's line, not libstdc++'s, is the allocation's
 *
 * libstdc++'s operators call malloc, which malloc.c records; here it only learns
 * where the program was. An allocator whose operators do not call malloc (jemalloc,
 * tcmalloc) leaves the hint lying, and is recorded here. Nothing else changes: a
 * replaced operator replaces ours (weak), and an exception passes through. Where no library has
 * the operator (libstdc++ linked from its archive finds ours and brings none) the
 * fallback below does the same.
 */
#include <stdlib.h>

#include "runtime/interpose/hint.h"
#include "runtime/core/rt.h"

typedef const void *nothrow_ref;

#ifdef HEDDLE_STATIC
#define MAY_BE_MISSING(type, name, ...)                                                            \
    extern type __real_##name(__VA_ARGS__) __attribute__((weak));
#else
#define MAY_BE_MISSING(type, name, ...)
#endif

#define NEW(name, args, fallback, ...)                                                             \
    MAY_BE_MISSING(void *, name, __VA_ARGS__)                                                      \
    INTERPOSE_UNLESS(rt_deaf_to_memory, void *, name, args, __VA_ARGS__)                           \
    {                                                                                              \
        void *p;                                                                                   \
                                                                                                   \
        if (!hint_given()) /* new[] jumps to new: the program called the first */                  \
            hint_give(WHERE_CALLER());                                                             \
        p = REAL(name) ? REAL(name) args : fallback;                                               \
        if (unlikely(hint_given()))                                                                \
            rt_malloced(p, n, hint_take(0));                                                       \
        return p;                                                                                  \
    }

#define DELETE(name, args, ...)                                                                    \
    MAY_BE_MISSING(void, name, __VA_ARGS__)                                                        \
    INTERPOSE_UNLESS(rt_deaf_to_memory, void, name, args, __VA_ARGS__)                             \
    {                                                                                              \
        if (!p)                                                                                    \
            return;                                                                                \
        if (__heddle_hint != HINT_RECORDED) { /* the same */                                       \
            rt_free(p, 0, WHERE_CALLER());                                                         \
            hint_recorded();                                                                       \
        }                                                                                          \
        if (REAL(name))                                                                            \
            REAL(name) args;                                                                       \
        else                                                                                       \
            free(p);                                                                               \
        hint_drop();                                                                               \
    }

/* ---- where there is no next definition ----
 *
 * What the standard asks of operator new, with libstdc++'s own functions where they are linked.
 */
extern void (*_ZSt15get_new_handlerv(void))(void) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak));

/* Room is to be made by the program's handler; false: there is none, and it does not throw. */
static bool new_make_room(bool throws)
{
    void (*handler)(void) = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;

    if (handler)
        handler();
    else if (throws && _ZSt17__throw_bad_allocv)
        _ZSt17__throw_bad_allocv();
    return handler;
}

static void *allocate(size_t align, size_t n, bool throws)
{
    void *p = NULL;

    do {
        if (!align)
            p = malloc(n ? n : 1);
        else if (posix_memalign(&p, align < sizeof(p) ? sizeof(p) : align, n ? n : 1))
            p = NULL;
    } while (!p && new_make_room(throws));
    return p;
}

/* ---- the operators: m is size_t, St11align_val_t an alignment, RKSt9nothrow_t std::nothrow ----
 */

NEW(_Znwm, (n), allocate(0, n, true), size_t n)
NEW(_Znam, (n), allocate(0, n, true), size_t n)
NEW(_ZnwmRKSt9nothrow_t, (n, t), allocate(0, n, false), size_t n, nothrow_ref t)
NEW(_ZnamRKSt9nothrow_t, (n, t), allocate(0, n, false), size_t n, nothrow_ref t)
NEW(_ZnwmSt11align_val_t, (n, a), allocate(a, n, true), size_t n, size_t a)
NEW(_ZnamSt11align_val_t, (n, a), allocate(a, n, true), size_t n, size_t a)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (n, a, t), allocate(a, n, false), size_t n, size_t a,
    nothrow_ref t)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (n, a, t), allocate(a, n, false), size_t n, size_t a,
    nothrow_ref t)

DELETE(_ZdlPv, (p), void *p)
DELETE(_ZdaPv, (p), void *p)
DELETE(_ZdlPvm, (p, n), void *p, size_t n)
DELETE(_ZdaPvm, (p, n), void *p, size_t n)
DELETE(_ZdlPvRKSt9nothrow_t, (p, t), void *p, nothrow_ref t)
DELETE(_ZdaPvRKSt9nothrow_t, (p, t), void *p, nothrow_ref t)
DELETE(_ZdlPvSt11align_val_t, (p, a), void *p, size_t a)
DELETE(_ZdaPvSt11align_val_t, (p, a), void *p, size_t a)
DELETE(_ZdlPvmSt11align_val_t, (p, n, a), void *p, size_t n, size_t a)
DELETE(_ZdaPvmSt11align_val_t, (p, n, a), void *p, size_t n, size_t a)
