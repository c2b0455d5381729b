/* tsan_atomic.c - the __tsan_atomic* interface, on the runtime's own atomic operations
 *
 * Sizes are in bits here, in bytes there; memory orders are C11's numbers, with
 * gcc's hints for lock elision above them.
 */
#include "runtime/core/rt.h"

typedef uint8_t u1;
typedef uint16_t u2;
typedef uint32_t u4;
typedef uint64_t u8;
typedef unsigned __int128 u16;

/* enum memory_order of event.h counts from 1. */
static inline unsigned order_of(int c11)
{
    c11 &= 7;
    return c11 > 5 ? ORDER_SEQ_CST : (unsigned)c11 + ORDER_RELAXED;
}

/* atomic.c */
#define IMPORT_RMW(n, name)                                                                        \
    HIDDEN u##n rt_atomic_##name##_##n(u##n *p, u##n v, unsigned order, uint64_t where);
#define IMPORT(n)                                                                                  \
    HIDDEN u##n rt_atomic_load_##n(u##n *p, unsigned order, uint64_t where);                       \
    HIDDEN void rt_atomic_store_##n(u##n *p, u##n v, unsigned order, uint64_t where);              \
    HIDDEN u##n rt_atomic_cas_##n(u##n *p, u##n expected, u##n desired, unsigned order,            \
                                  unsigned failure, uint64_t where);                               \
    IMPORT_RMW(n, exchange)                                                                        \
    IMPORT_RMW(n, add)                                                                             \
    IMPORT_RMW(n, sub)                                                                             \
    IMPORT_RMW(n, and)                                                                             \
    IMPORT_RMW(n, or)                                                                              \
    IMPORT_RMW(n, xor)                                                                             \
    IMPORT_RMW(n, nand)

#define ATOMIC_RMW(n, bits, name, ours)                                                            \
    EXPORT u##n __tsan_atomic##bits##_##name(u##n *p, u##n v, int order);                          \
    EXPORT u##n __tsan_atomic##bits##_##name(u##n *p, u##n v, int order)                           \
    {                                                                                              \
        return rt_atomic_##ours##_##n(p, v, order_of(order), WHERE_CALLER());                      \
    }
#define ATOMIC_CAS(n, bits, name)                                                                  \
    EXPORT int __tsan_atomic##bits##_##name(u##n *p, u##n *expected, u##n v, int order,            \
                                            int failure);                                          \
    EXPORT int __tsan_atomic##bits##_##name(u##n *p, u##n *expected, u##n v, int order,            \
                                            int failure)                                           \
    {                                                                                              \
        u##n was = rt_atomic_cas_##n(p, *expected, v, order_of(order), order_of(failure),          \
                                     WHERE_CALLER());                                              \
                                                                                                   \
        if (was == *expected)                                                                      \
            return 1;                                                                              \
        *expected = was;                                                                           \
        return 0;                                                                                  \
    }
#define ATOMICS(n, bits)                                                                           \
    IMPORT(n)                                                                                      \
    EXPORT u##n __tsan_atomic##bits##_load(const u##n *p, int order);                              \
    EXPORT u##n __tsan_atomic##bits##_load(const u##n *p, int order)                               \
    {                                                                                              \
        return rt_atomic_load_##n((u##n *)p, order_of(order), WHERE_CALLER());                     \
    }                                                                                              \
    EXPORT void __tsan_atomic##bits##_store(u##n *p, u##n v, int order);                           \
    EXPORT void __tsan_atomic##bits##_store(u##n *p, u##n v, int order)                            \
    {                                                                                              \
        rt_atomic_store_##n(p, v, order_of(order), WHERE_CALLER());                                \
    }                                                                                              \
    EXPORT u##n __tsan_atomic##bits##_compare_exchange_val(u##n *p, u##n expected, u##n v,         \
                                                           int order, int failure);                \
    EXPORT u##n __tsan_atomic##bits##_compare_exchange_val(u##n *p, u##n expected, u##n v,         \
                                                           int order, int failure)                 \
    {                                                                                              \
        return rt_atomic_cas_##n(p, expected, v, order_of(order), order_of(failure),               \
                                 WHERE_CALLER());                                                  \
    }                                                                                              \
    ATOMIC_CAS(n, bits, compare_exchange_strong)                                                   \
    ATOMIC_CAS(n, bits, compare_exchange_weak)                                                     \
    ATOMIC_RMW(n, bits, exchange, exchange)                                                        \
    ATOMIC_RMW(n, bits, fetch_add, add)                                                            \
    ATOMIC_RMW(n, bits, fetch_sub, sub)                                                            \
    ATOMIC_RMW(n, bits, fetch_and, and)                                                            \
    ATOMIC_RMW(n, bits, fetch_or, or)                                                              \
    ATOMIC_RMW(n, bits, fetch_xor, xor)                                                            \
    ATOMIC_RMW(n, bits, fetch_nand, nand)

ATOMICS(1, 8)
ATOMICS(2, 16)
ATOMICS(4, 32)
ATOMICS(8, 64)
ATOMICS(16, 128)

EXPORT void __tsan_atomic_thread_fence(int order);
EXPORT void __tsan_atomic_thread_fence(int order)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    rt_fence(order_of(order), WHERE_CALLER());
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Between a thread and its own signal handlers: no event. */
EXPORT void __tsan_atomic_signal_fence(int order);
EXPORT void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
