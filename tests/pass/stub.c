/* stub.c - a runtime for tests of the plugin: writes what it is told to stdout, one event a line
 *
 *     read 4 12          access, bytes, site
 *     range-write 40 13
 *     row-write 40 13    consecutive accesses of a loop, before it
 *     atomic add 4 6 14  operation, bytes, order, site
 *     fence 6 15
 *     enter 3 / left-to 1   full builds: records of the chunk, decoded
 *     access write 4 12 7    ... with the value; "-" without
 *     branch 16 1            site, outcome
 *     call 17 2 / return 17 5
 *     depth 0            at the end: the shadow stack's depth
 *
 * The filter never matches. Addresses are checked against the shadow stack's bounds only.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rt_ring.h"
#include "abi/rt_stretch.h"
#include "abi/abi.h"

static struct heddle_filter filter;
static struct heddle_frame shadow[SHADOW_MASK + 1];
static struct {
    struct ring_chunk head;
    char room[4096];
    char slack[RING_SLACK];
} chunk = { .head = { .cursor = RING_CHUNK_HEADER, .limit = 4096 } };
_Thread_local struct heddle_tls __heddle_tls
    __attribute__((tls_model("initial-exec"))) = { .filter = &filter,
                                                   .epoch = UINT64_C(1) << FILTER_EPOCH_SHIFT,
                                                   .shadow = shadow,
                                                   .chunk = &chunk.head };
char __heddle_abi_7;
uint64_t __heddle_newest[8] __attribute__((aligned(64))); /* no thread ever synchronises */
static uint32_t base;

static void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
}

/* ---- records of a full build ---- */

/* Its shape is in the site table, which pass_test reads. */
static const uint64_t *decode_stretch(const uint64_t *w, unsigned words)
{
    const unsigned char *bytes = (const unsigned char *)w;
    say("stretch %d ", (int)((uint32_t)w[0] - base));
    for (unsigned i = 0; i < 8 * words; i++)
        say("%02x", bytes[i]);
    say("\n");
    return w + words;
}

static const uint64_t *decode(const uint64_t *w)
{
    uint64_t low = w[0] & RING_LOW;
    unsigned kind = (unsigned)(w[0] >> 56), arg = w[0] >> 48 & 0xff;
    switch (kind) {
    case R_ENTER:
        say("enter %d\n", (int)((uint32_t)w[1] - base));
        return w + 2;
    case R_EXIT:
        say(arg & EXIT_TO ? "left-to %d\n" : "exit %d\n", (int)low);
        return w + 1;
    case R_BRANCH:
        say("branch %d %d\n", (int)((uint32_t)low - base), (int)(low >> 32));
        return w + 1;
    case R_ACCESS: {
        char value[32] = "-";
        if (arg & ACCESS_VALUE32)
            snprintf(value, sizeof value, "%u", (unsigned)(w[1] >> 32));
        if (arg & ACCESS_VALUE64)
            snprintf(value, sizeof value, "%llu", (unsigned long long)w[2]);
        say("access %s %d %d %s\n", arg & ACCESS_WRITE ? "write" : "read",
            1 << (arg >> ACCESS_SIZE_SHIFT & 7), (int)((uint32_t)w[1] - base), value);
        return w + (arg & ACCESS_VALUE64 ? 3 : 2);
    }
    default:
        if (kind & STRETCH_MARK)
            return decode_stretch(w, kind & ~(unsigned)STRETCH_MARK);
        say("bad record %llx\n", (unsigned long long)w[0]);
        exit(1);
    }
}

static void flush(void)
{
    const uint64_t *at = (const uint64_t *)((char *)&chunk + RING_CHUNK_HEADER);
    const uint64_t *end = (const uint64_t *)((char *)&chunk + chunk.head.cursor);
    while (at < end)
        at = decode(at);
    chunk.head.cursor = RING_CHUNK_HEADER;
}

__attribute__((preserve_most)) void __heddle_full(void)
{
    flush();
}

/* ---- entry points ---- */

void __heddle_register(struct heddle_module *start, struct heddle_module *stop)
{
    uint32_t next = 1000;
    for (; start < stop; start++) {
        start->base = next;
        next += start->sites;
    }
    base = 1000;
}

#define ACCESS(verb, n, name)                                                                      \
    __attribute__((preserve_most)) void __heddle_##verb##name(void *p, uint32_t site)              \
    {                                                                                              \
        (void)p;                                                                                   \
        flush();                                                                                   \
        say("%s %d %d\n", #verb, n, (int)(site - base));                                           \
    }
#define ACCESSES(n, name) ACCESS(read, n, name) ACCESS(write, n, name) ACCESS(update, n, name)
ACCESSES(1, 1)
ACCESSES(2, 2)
ACCESSES(4, 4)
ACCESSES(8, 8)
ACCESSES(16, 16)
ACCESSES(2, 2_unaligned)
ACCESSES(4, 4_unaligned)
ACCESSES(8, 8_unaligned)
ACCESSES(16, 16_unaligned)
ACCESSES(1, 1_loose)
ACCESSES(2, 2_loose)
ACCESSES(4, 4_loose)
ACCESSES(8, 8_loose)
ACCESSES(16, 16_loose)

void __heddle_read_range(void *p, uint64_t bytes, uint32_t site)
{
    (void)p;
    flush();
    say("range-read %d %d\n", (int)bytes, (int)(site - base));
}

void __heddle_write_range(void *p, uint64_t bytes, uint32_t site)
{
    (void)p;
    flush();
    say("range-write %d %d\n", (int)bytes, (int)(site - base));
}

/* What a loop is going to access; nothing if it makes no round. */
#define ROW(verb, name)                                                                            \
    __attribute__((preserve_most)) void __heddle_##verb##_##name(void *p, uint64_t bytes,          \
                                                                 uint32_t site)                    \
    {                                                                                              \
        (void)p;                                                                                   \
        flush();                                                                                   \
        if (bytes)                                                                                 \
            say("row-" #verb " %d %d\n", (int)bytes, (int)(site - base));                          \
    }
ROW(read, units)
ROW(write, units)
ROW(read, bytes)
ROW(write, bytes)

static void atomic(const char *verb, int bytes, uint32_t order, uint32_t site)
{
    flush();
    say("atomic %s %d %d %d\n", verb, bytes, (int)order, (int)(site - base));
}

#define RMW(T, n, verb, expression)                                                                \
    T __heddle_atomic_##verb##_##n(T *p, T v, uint32_t order, uint32_t site)                       \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = expression;                                                                           \
        atomic(#verb, n, order, site);                                                             \
        return old;                                                                                \
    }
#define ATOMICS(T, S, n)                                                                           \
    T __heddle_atomic_load_##n(T *p, uint32_t order, uint32_t site)                                \
    {                                                                                              \
        atomic("load", n, order, site);                                                            \
        return *p;                                                                                 \
    }                                                                                              \
    void __heddle_atomic_store_##n(T *p, T v, uint32_t order, uint32_t site)                       \
    {                                                                                              \
        atomic("store", n, order, site);                                                           \
        *p = v;                                                                                    \
    }                                                                                              \
    T __heddle_atomic_cas_##n(T *p, T expected, T desired, uint32_t order, uint32_t failure,       \
                              uint32_t site)                                                       \
    {                                                                                              \
        T old = *p;                                                                                \
        (void)failure;                                                                             \
        if (old == expected)                                                                       \
            *p = desired;                                                                          \
        atomic("cas", n, order, site);                                                             \
        return old;                                                                                \
    }                                                                                              \
    RMW(T, n, exchange, v)                                                                         \
    RMW(T, n, add, (T)(old + v))                                                                   \
    RMW(T, n, sub, (T)(old - v))                                                                   \
    RMW(T, n, and, old &v)                                                                         \
    RMW(T, n, or, old | v)                                                                         \
    RMW(T, n, xor, old ^ v)                                                                        \
    RMW(T, n, nand, (T) ~(old & v))                                                                \
    RMW(T, n, max, (S)old > (S)v ? old : v)                                                        \
    RMW(T, n, min, (S)old < (S)v ? old : v)                                                        \
    RMW(T, n, umax, old > v ? old : v)                                                             \
    RMW(T, n, umin, old < v ? old : v)
ATOMICS(uint8_t, int8_t, 1)
ATOMICS(uint16_t, int16_t, 2)
ATOMICS(uint32_t, int32_t, 4)
ATOMICS(uint64_t, int64_t, 8)
ATOMICS(unsigned __int128, __int128, 16)

void __heddle_fence(uint32_t order, uint32_t site)
{
    flush();
    say("fence %d %d\n", (int)order, (int)(site - base));
}

void __heddle_atomic_begin(void *p)
{
    (void)p;
    flush();
}

void __heddle_atomic_end(void *p, uint32_t bytes, uint32_t order, uint32_t site)
{
    (void)p;
    atomic("rmw", (int)bytes, order, site);
}

void __heddle_asm_end(void *p, uint32_t bytes, uint32_t order, uint32_t site)
{
    __heddle_atomic_end(p, bytes, order, site);
}

void __heddle_hand_read(void *p, uint32_t bytes, uint32_t site)
{
    (void)p;
    flush();
    say("read %d %d\n", (int)bytes, (int)(site - base));
}

void __heddle_hand_write(void *p, uint32_t bytes, uint32_t site)
{
    (void)p;
    flush();
    say("write %d %d\n", (int)bytes, (int)(site - base));
}

uint64_t __heddle_targets[TARGETS];
uint8_t __heddle_logged[LOGGED_BLOCKS];

uint32_t __heddle_call(uint32_t site, const char *name, uint32_t pairs, const uint64_t *words)
{
    flush();
    for (uint32_t i = 0; i < pairs; i++)
        if (!words[2 * i])
            abort();
    say("call %d %d\n", (int)(site - base), (int)pairs);
    return 1;
}

uint32_t __heddle_call_function(uint32_t site, const char *name, uint32_t pairs,
                                const uint64_t *words, void *f)
{
    if (!f)
        abort();
    return __heddle_call(site, name, pairs, words);
}

uint32_t __heddle_call_pointer(uint32_t site, void *target, uint32_t pairs, const uint64_t *words)
{
    if (!target)
        abort();
    return __heddle_call(site, "", pairs, words);
}

void __heddle_result(uint32_t site, uint64_t value)
{
    flush();
    say("result %d %lld\n", (int)(site - base), (long long)value);
}

__attribute__((preserve_most)) void __heddle_stored(void *p, uint64_t bytes)
{
    if (!p || !bytes)
        abort();
}

void __heddle_register_lists(void **functions, void **stop, struct heddle_variable *variables,
                             struct heddle_variable *variables_stop)
{
    if (functions > stop || variables > variables_stop)
        abort();
    for (; functions < stop; functions++)
        if (*functions)
            __heddle_targets[(uintptr_t)*functions >> TARGET_SHIFT & (TARGETS - 1)] =
                (uintptr_t)*functions;
}

void __heddle_return(uint32_t site, uint64_t value)
{
    flush();
    say("return %d %lld\n", (int)(site - base), (long long)value);
}

/* Modelled functions of both kinds; printf goes to stderr and is not told. */
size_t __heddle_strlen(const char *s, uint32_t site)
{
    flush();
    say("libc strlen %d\n", (int)(site - base));
    return strlen(s);
}

int __heddle_snprintf(uint32_t site, char *out, size_t n, const char *fmt, ...)
{
    va_list ap;
    flush();
    say("libc snprintf %d\n", (int)(site - base));
    va_start(ap, fmt);
    int r = vsnprintf(out, n, fmt, ap);
    va_end(ap);
    return r;
}

int __heddle_printf(uint32_t site, const char *fmt, ...)
{
    va_list ap;
    (void)site;
    flush();
    va_start(ap, fmt);
    int r = vfprintf(stderr, fmt, ap);
    va_end(ap);
    return r;
}

__attribute__((destructor)) static void end(void)
{
    flush();
    say("depth %d\n", (int)__heddle_tls.depth);
}

__attribute__((preserve_most)) void __heddle_edge(_Bool entered);
__attribute__((preserve_most)) void __heddle_edge(_Bool entered)
{
    (void)entered;
}
