/* new.c - operator new and delete: the program's line, not libstdc++'s, is the allocation's
 *
 * libstdc++'s operators call malloc, which malloc.c records; here it only learns
 * where the program was. An allocator whose operators do not call malloc (jemalloc,
 * tcmalloc) leaves the hint lying, and is recorded here. Nothing else changes: a
 * replaced operator replaces ours (weak), and an exception passes through. Where no library has
 * the operator (libstdc++ linked from its archive finds ours and brings none) it
 * is malloc; running out of memory then gives NULL instead of bad_alloc.
 */
#include <stdlib.h>

#include "runtime/hint.h"
#include "runtime/rt.h"

typedef const void *nothrow_ref;

/* Mangled names: m is size_t, PvSt11align_val_t an alignment, RKSt9nothrow_t std::nothrow. */
#ifdef HEDDLE_STATIC
#define MAY_BE_MISSING(type, name, ...)                                                            \
    extern type __real_##name(__VA_ARGS__) __attribute__((weak));
#else
#define MAY_BE_MISSING(type, name, ...)
#endif

#define NEW(name, args, fallback, ...)                                                             \
    MAY_BE_MISSING(void *, name, __VA_ARGS__)                                                      \
    INTERPOSE(void *, name, __VA_ARGS__)                                                           \
    {                                                                                              \
        void *p;                                                                                   \
                                                                                                   \
        hint_give(WHERE_CALLER());                                                                 \
        p = REAL(name) ? REAL(name) args : fallback;                                               \
        if (unlikely(hint_given()))                                                                \
            rt_alloc(p, n, hint_take(0));                                                          \
        return p;                                                                                  \
    }

#define DELETE(name, args, ...)                                                                    \
    MAY_BE_MISSING(void, name, __VA_ARGS__)                                                        \
    INTERPOSE(void, name, __VA_ARGS__)                                                             \
    {                                                                                              \
        if (!p)                                                                                    \
            return;                                                                                \
        rt_free(p, 0, WHERE_CALLER());                                                             \
        hint_recorded();                                                                           \
        if (REAL(name))                                                                            \
            REAL(name) args;                                                                       \
        else                                                                                       \
            free(p);                                                                               \
        hint_drop();                                                                               \
    }

static inline void *aligned(size_t align, size_t n)
{
    void *p = NULL;

    return posix_memalign(&p, align < sizeof(p) ? sizeof(p) : align, n ? n : 1) ? NULL : p;
}

NEW(_Znwm, (n), malloc(n ? n : 1), size_t n)
NEW(_Znam, (n), malloc(n ? n : 1), size_t n)
NEW(_ZnwmRKSt9nothrow_t, (n, t), malloc(n ? n : 1), size_t n, nothrow_ref t)
NEW(_ZnamRKSt9nothrow_t, (n, t), malloc(n ? n : 1), size_t n, nothrow_ref t)
NEW(_ZnwmSt11align_val_t, (n, a), aligned(a, n), size_t n, size_t a)
NEW(_ZnamSt11align_val_t, (n, a), aligned(a, n), size_t n, size_t a)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (n, a, t), aligned(a, n), size_t n, size_t a, nothrow_ref t)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (n, a, t), aligned(a, n), size_t n, size_t a, nothrow_ref t)

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
