/* tsan.c - the __tsan_* interface: accesses and frames
 *
 * What objects of `-fsanitize=thread` call (gcc 12, clang 19), before each
 * access, with nothing but its address; where it is, the return address says.
 * The filter is asked first, as the plugin's code does inline.
 *
 * tsan_atomic.c has the atomic operations, tsan_sync.c locks and fibers.
 */
#include <string.h>

#include "runtime/core/benign.h"
#include "runtime/core/filter.h"
#include "runtime/libc/libc_at.h"
#include "runtime/core/rt.h"

#define AT(pc) (WHERE_PC | (uint64_t)(uintptr_t)(pc))

static inline __attribute__((always_inline)) void reads(const void *p, unsigned bytes,
                                                        uint64_t where)
{
    if (bytes <= 8 && likely(filter_hit_read(p, bytes)))
        return;
    if (!is_benign(p, bytes))
        rt_read(p, bytes, where);
}

static inline __attribute__((always_inline)) void writes(const void *p, unsigned bytes,
                                                         uint64_t where)
{
    if (bytes <= 8 && likely(filter_hit_write(p, bytes)))
        return;
    if (!is_benign(p, bytes))
        rt_write(p, bytes, where);
}

/* ---- accesses ---- */

#define FUNCTION(name, ...)                                                                        \
    EXPORT void name(__VA_ARGS__);                                                                 \
    EXPORT void name(__VA_ARGS__)

/* Aligned or not, volatile or not: all the same here. */
#define ACCESS(n, kind)                                                                            \
    FUNCTION(__tsan_##kind##read##n, void *p)                                                      \
    {                                                                                              \
        reads(p, n, WHERE_CALLER());                                                               \
    }                                                                                              \
    FUNCTION(__tsan_##kind##write##n, void *p)                                                     \
    {                                                                                              \
        writes(p, n, WHERE_CALLER());                                                              \
    }
/* Compound: a read and a write by one call. */
#define READ_WRITE(n, kind)                                                                        \
    FUNCTION(__tsan_##kind##read_write##n, void *p)                                                \
    {                                                                                              \
        reads(p, n, WHERE_CALLER());                                                               \
        writes(p, n, WHERE_CALLER());                                                              \
    }
#define ACCESS_PC(n)                                                                               \
    FUNCTION(__tsan_read##n##_pc, void *p, void *pc)                                               \
    {                                                                                              \
        reads(p, n, AT(pc));                                                                       \
    }                                                                                              \
    FUNCTION(__tsan_write##n##_pc, void *p, void *pc)                                              \
    {                                                                                              \
        writes(p, n, AT(pc));                                                                      \
    }
#define ACCESSES(n)                                                                                \
    ACCESS(n, )                                                                                    \
    ACCESS(n, unaligned_)                                                                          \
    ACCESS(n, volatile_)                                                                           \
    ACCESS(n, unaligned_volatile_)                                                                 \
    READ_WRITE(n, )                                                                                \
    READ_WRITE(n, unaligned_)                                                                      \
    ACCESS_PC(n)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

/* ---- ranges ---- */

FUNCTION(__tsan_read_range, void *p, unsigned long bytes)
{
    rt_read(p, bytes, WHERE_CALLER());
}

FUNCTION(__tsan_write_range, void *p, unsigned long bytes)
{
    rt_write(p, bytes, WHERE_CALLER());
}

FUNCTION(__tsan_read_range_pc, void *p, unsigned long bytes, void *pc)
{
    rt_read(p, bytes, AT(pc));
}

FUNCTION(__tsan_write_range_pc, void *p, unsigned long bytes, void *pc)
{
    rt_write(p, bytes, AT(pc));
}

/* clang's, instead of calls of libc. */
EXPORT void *__tsan_memcpy(void *d, const void *s, size_t n);
EXPORT void *__tsan_memcpy(void *d, const void *s, size_t n)
{
    return libc_at_memcpy(d, s, n, WHERE_CALLER());
}

EXPORT void *__tsan_memmove(void *d, const void *s, size_t n);
EXPORT void *__tsan_memmove(void *d, const void *s, size_t n)
{
    return libc_at_memmove(d, s, n, WHERE_CALLER());
}

EXPORT void *__tsan_memset(void *d, int c, size_t n);
EXPORT void *__tsan_memset(void *d, int c, size_t n)
{
    return libc_at_memset(d, c, n, WHERE_CALLER());
}

/* ---- <sanitizer/common_interface_defs.h>: programs call these for what may not be aligned ----
 *
 * Weak: other sanitizers have them, too.
 */

#define WEAK __attribute__((weak))
#define UNALIGNED(bits)                                                                            \
    EXPORT WEAK uint##bits##_t __sanitizer_unaligned_load##bits(const void *p);                    \
    EXPORT uint##bits##_t __sanitizer_unaligned_load##bits(const void *p)                          \
    {                                                                                              \
        uint##bits##_t x;                                                                          \
                                                                                                   \
        reads(p, sizeof(x), WHERE_CALLER());                                                       \
        __builtin_memcpy(&x, p, sizeof(x));                                                        \
        return x;                                                                                  \
    }                                                                                              \
    EXPORT WEAK void __sanitizer_unaligned_store##bits(void *p, uint##bits##_t x);                 \
    EXPORT void __sanitizer_unaligned_store##bits(void *p, uint##bits##_t x)                       \
    {                                                                                              \
        writes(p, sizeof(x), WHERE_CALLER());                                                      \
        __builtin_memcpy(p, &x, sizeof(x));                                                        \
    }

UNALIGNED(16)
UNALIGNED(32)
UNALIGNED(64)

/* ---- virtual table pointers ---- */

/* A destructor writes the pointer that is there already: no write, or every virtual call in
 * another thread would race with it. */
FUNCTION(__tsan_vptr_update, void **p, void *value)
{
    if (*p == value)
        reads(p, sizeof(*p), WHERE_CALLER());
    else
        writes(p, sizeof(*p), WHERE_CALLER());
}

FUNCTION(__tsan_vptr_read, void **p)
{
    reads(p, sizeof(*p), WHERE_CALLER());
}

/* ---- frames ---- */

FUNCTION(__tsan_func_entry, void *return_address)
{
    rt_enter((uint64_t)(uintptr_t)return_address, WHERE_CALLER());
}

FUNCTION(__tsan_func_exit, void)
{
    rt_exit();
}

FUNCTION(__tsan_init, void)
{
    rt_tsan_objects = true;
    rt_image_traced(__builtin_return_address(0));
}
