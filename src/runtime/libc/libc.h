/* libc.h - how the modelled libc functions are written
 *
 *     LIBC(void *, memcpy, (void *d, const void *s, size_t n), (d, s, n))
 *     {
 *         rt_read(s, n, where);
 *         rt_write(d, n, where);
 *         return CALL(memcpy)(d, s, n);
 *     }
 *
 * defines `__heddle_memcpy(d, s, n, uint32_t site)`, which the plugin's code
 * calls. Compiled with LIBC_NAMES (libc_names.c) the same text defines `memcpy`
 * itself, weak, for objects of other compilers; `where` is then the caller's
 * address. VLIBC does the same for functions with `...`, by their va_list twin.
 *
 * What is recorded is what the function touches by its specification, no byte
 * more, and no other memory is looked at: a string that is read until it
 * differs is read that far here, too. Arguments are recorded before the call
 * and results after it.
 *
 * CALL(f) is libc's f. It is never one of ours, and works while the runtime
 * starts. Functions that fd.c interposes are called by their plain names instead,
 * between hint_give and hint_drop: the interposer records the edge.
 */
#ifndef HEDDLE_RUNTIME_LIBC_LIBC_H
#define HEDDLE_RUNTIME_LIBC_LIBC_H

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <iconv.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/interpose/fd.h"
#include "runtime/interpose/hint.h"
#include "runtime/libc/libc_chk.h"
#include "runtime/core/rt.h"
#ifdef LIBC_NAMES
#define LIBC_ENTER() ((void)0)
#else
#include "runtime/production/prod_libc.h"
#endif

#ifdef HEDDLE_STATIC
#define CALL(name) name
#else
#define CALL(name) next_##name()
#define LIBC_NEXT(name)                                                                            \
    static inline __typeof__(&name) next_##name(void)                                              \
    {                                                                                              \
        static __typeof__(&name) next;                                                             \
                                                                                                   \
        if (unlikely(!__atomic_load_n(&next, __ATOMIC_RELAXED)))                                   \
            __atomic_store_n(&next, (__typeof__(&name))rt_next_definition(#name),                  \
                             __ATOMIC_RELAXED);                                                    \
        return next;                                                                               \
    }
#define ROW(args, result, does, names) names
#define N(name)
#define I(name)
#define M(name, n) LIBC_NEXT(name)
#define V(name, n) LIBC_NEXT(name)
#define P(pattern)
#define Q(pattern)
#include "abi/rt_libc_table.h"
#endif

#define LIBC_LIST(...) __VA_ARGS__

/* `return f()` of a void function is fine, and keeps one macro for all. */
#ifdef LIBC_NAMES
#define LIBC_AS(type, name, params, args)                                                          \
    EXPORT __attribute__((weak)) type name params;                                                 \
    EXPORT __attribute__((weak)) type name params                                                  \
    {                                                                                              \
        return at_##name(LIBC_LIST args, WHERE_CALLER());                                          \
    }
#define VLIBC(type, name, params, last, call)                                                      \
    EXPORT __attribute__((weak)) type name(LIBC_LIST params, ...);                                 \
    EXPORT __attribute__((weak)) type name(LIBC_LIST params, ...)                                  \
    {                                                                                              \
        uint64_t where = WHERE_CALLER();                                                           \
        VLIBC_BODY(type, last, call)                                                               \
    }
#else
#define LIBC_AS(type, name, params, args)                                                          \
    EXPORT type __heddle_##name(LIBC_LIST params, uint32_t site);                                  \
    EXPORT type __heddle_##name(LIBC_LIST params, uint32_t site)                                   \
    {                                                                                              \
        LIBC_ENTER();                                                                              \
        return at_##name(LIBC_LIST args, where_site(site));                                        \
    }
#define VLIBC(type, name, params, last, call)                                                      \
    EXPORT type __heddle_##name(uint32_t site, LIBC_LIST params, ...);                             \
    EXPORT type __heddle_##name(uint32_t site, LIBC_LIST params, ...)                              \
    {                                                                                              \
        uint64_t where = where_site(site);                                                         \
                                                                                                   \
        LIBC_ENTER();                                                                              \
        VLIBC_BODY(type, last, call)                                                               \
    }
#endif
#define VLIBC_BODY(type, last, call)                                                               \
    va_list ap;                                                                                    \
    type result;                                                                                   \
                                                                                                   \
    va_start(ap, last);                                                                            \
    result = call;                                                                                 \
    va_end(ap);                                                                                    \
    return result;

#define LIBC(type, name, params, args)                                                             \
    static inline type at_##name(LIBC_LIST params, uint64_t where);                                \
    LIBC_AS(type, name, params, args)                                                              \
    static inline type at_##name(LIBC_LIST params, uint64_t where)

/* Functions without parameters. */
#ifdef LIBC_NAMES
#define LIBC0_AS(type, name)                                                                       \
    EXPORT __attribute__((weak)) type name(void);                                                  \
    EXPORT __attribute__((weak)) type name(void)                                                   \
    {                                                                                              \
        return at_##name(WHERE_CALLER());                                                          \
    }
#else
#define LIBC0_AS(type, name)                                                                       \
    EXPORT type __heddle_##name(uint32_t site);                                                    \
    EXPORT type __heddle_##name(uint32_t site)                                                     \
    {                                                                                              \
        LIBC_ENTER();                                                                              \
        return at_##name(where_site(site));                                                        \
    }
#endif
#define LIBC0(type, name)                                                                          \
    static inline type at_##name(uint64_t where);                                                  \
    LIBC0_AS(type, name)                                                                           \
    static inline type at_##name(uint64_t where)

/* Call the interposer on behalf of `where`. */
#define VIA_FD(call)                                                                               \
    ({                                                                                             \
        hint_give(where);                                                                          \
        __typeof__(call) result_ = call;                                                           \
        hint_drop();                                                                               \
        result_;                                                                                   \
    })

/* Reads of strings, as far as they go. */
static inline void read_string(const char *s, uint64_t where)
{
    if (s && rt_recording())
        rt_read(s, CALL(strlen)(s) + 1, where);
}

/* At most `most` bytes, with the NUL if it is among them. */
static inline void read_string_up_to(const char *s, size_t most, uint64_t where)
{
    size_t n;

    if (!s || !most || !rt_recording())
        return;
    n = CALL(strnlen)(s, most);
    rt_read(s, n < most ? n + 1 : n, where);
}

static inline void write_string(const char *s, uint64_t where)
{
    if (s && rt_recording())
        rt_write(s, CALL(strlen)(s) + 1, where);
}

/* Results that may be NULL, after the call. */
static inline void write_if(const void *p, size_t bytes, uint64_t where)
{
    if (p)
        rt_wrote(p, bytes, where);
}

static inline void read_if(const void *p, size_t bytes, uint64_t where)
{
    if (p)
        rt_read(p, bytes, where);
}

#endif
