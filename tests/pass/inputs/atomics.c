/* Atomic operations, fences, assembly. Prints results, so that builds can be compared. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Watomic-alignment"
#endif
#include <stdatomic.h>
#include <stdio.h>

_Atomic char c;
_Atomic short s;
_Atomic int i;
_Atomic long l;
_Atomic(char *) p;
_Atomic float f;
_Atomic double d;
_Atomic __int128 q;
struct big {
    int x[8];
};
_Atomic struct big big;
int plain;

static void orders(void)
{
    atomic_store_explicit(&i, 1, memory_order_relaxed);     // @relaxed
    atomic_store_explicit(&i, 2, memory_order_release);     // @release
    atomic_load_explicit(&i, memory_order_acquire);         // @acquire
    atomic_fetch_add_explicit(&i, 3, memory_order_acq_rel); // @acq_rel
    atomic_fetch_sub(&i, 1);                                // @seq_cst
    atomic_thread_fence(memory_order_release);              // @fence
    atomic_signal_fence(memory_order_seq_cst);
}

static void sizes(void)
{
    c = c + 1;
    atomic_fetch_or(&c, 0x40);
    atomic_fetch_and(&s, 3);
    atomic_fetch_xor(&s, 9);
    l += 1L << 40;
    p = (char *)&p + 1;
    f += 1.5f;
    d = 2.25;
    q = q + 1;
    q += 41;
    struct big b = { { 1, 2, 3 } };
    atomic_store(&big, b);
    b = atomic_load(&big);
    plain = b.x[2];
}

static void exchanges(void)
{
    int want = 4, seen;
    long none = 0;
    printf("%d ", atomic_compare_exchange_strong(&i, &want, 10));
    printf("%d %d ", atomic_compare_exchange_strong(&i, &want, 11), want);
    printf("%d ", atomic_compare_exchange_weak(&l, &none, 5));
    char *old = atomic_exchange(&p, NULL);
    double dwant = 2.25;
    printf("%d ", atomic_compare_exchange_strong(&d, &dwant, 3.5));
    __int128 qwant = 42;
    printf("%d ", atomic_compare_exchange_strong(&q, &qwant, 7));
    seen = __atomic_fetch_nand(&plain, 1, __ATOMIC_SEQ_CST);
#ifdef __clang__
    seen += __atomic_fetch_max(&plain, 5, __ATOMIC_RELAXED);
#endif
    printf("%d %d ", old == (char *)&p + 1, seen);
}

static void assembly(void)
{
    int add = 3, other = 1, *where = &plain;
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(add), "+m"(plain)); // @xadd
    __asm__ volatile("lock; incl (%0)" : : "r"(where) : "memory");   // @incl
    __asm__ volatile("lock; addl $0, -4(%%rsp)" : : : "memory");     // @barrier
    __asm__ volatile("mfence" : : : "memory");                       // @mfence
    __asm__ volatile("incl %0" : "+m"(plain));                       // @plain
    __asm__ volatile("xchgl %0, %1" : "+r"(other), "+m"(plain));     // @xchg
    __builtin_ia32_mfence();                                         // @builtin
    __builtin_ia32_pause();
    printf("%d %d ", add, other);
}

int main(void)
{
    orders();
    sizes();
    exchanges();
    assembly();
    printf("%d %d %d %ld %g %g %d %d\n", c, s, i, (long)l, (double)(float)f, d, (int)q, plain);
    return 0;
}
