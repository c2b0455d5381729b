/* malloc.c - the malloc family: objects come and go
 *
 * Each function calls the next definition (libc's, or that of a library such as
 * jemalloc; a program's own malloc replaces ours, which are weak). An
 * allocation is recorded after it was got, a release before it is given back.
 *
 * Looking up the next definition may itself allocate (dlsym, before anything
 * else runs): such requests are served from a small static area, and never
 * given to another allocator.
 *
 * realloc ends the old object and begins a new one, also where the address
 * stays; if it fails, the old object goes on as a new one of its usable size.
 *
 * What the dynamic linker frees is no event. Of its memory programs know only their thread-local
 * variables (of libraries loaded later), which it frees for threads that have ended, whoever
 * happens to call it: nothing in the program orders that, and nothing has to.
 */
#include <elf.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "runtime/interpose/hint.h"
#include "runtime/core/rt.h"

_Thread_local uint64_t __heddle_hint __attribute__((tls_model("initial-exec")));

/* ---- memory while the real functions are looked up ---- */

enum {
    EARLY_BYTES = 1 << 16, /* dlsym asks for a few hundred bytes, once per thread and error */
    EARLY_HEAD = 16        /* before a block: its size */
};
static char early[EARLY_BYTES] __attribute__((aligned(16)));
static size_t early_used;

static void *early_alloc(size_t bytes, size_t align)
{
    size_t at, end, was = __atomic_load_n(&early_used, __ATOMIC_RELAXED);

    do {
        at = (was + EARLY_HEAD + align - 1) / align * align;
        end = (at + bytes + 15) & ~(size_t)15;
        if (bytes > EARLY_BYTES || end > EARLY_BYTES) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&early_used, &was, end, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    *(size_t *)(early + at - EARLY_HEAD) = bytes;
    return early + at; /* zero: the area is used once */
}

static inline bool is_early(const void *p)
{
    return (uintptr_t)p - (uintptr_t)early < EARLY_BYTES;
}

/* To be asked second: the barrier keeps the compiler from computing it for those who listen. */
static inline bool is_ordinary(const void *p)
{
    __asm__ volatile("");
    return !is_early(p);
}

#ifdef HEDDLE_STATIC
#define KNOWN(name) true
#else
/* This thread is looking a function up. */
static _Thread_local unsigned looking_up __attribute__((tls_model("initial-exec")));
#define KNOWN(name)                                                                                \
    (likely(__atomic_load_n(&real_##name, __ATOMIC_RELAXED)) ||                                    \
     (looking_up == 0 && (looking_up++, next_##name(), looking_up--, true)))
#endif

/* ---- the dynamic linker ---- */

#ifdef HEDDLE_STATIC
#define BY_LINKER() false
#else
static uintptr_t linker, linker_bytes;
#define BY_LINKER() ((uintptr_t)__builtin_return_address(0) - linker < linker_bytes)

static __attribute__((constructor(101))) void find_linker(void)
{
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)getauxval(AT_BASE);
    const Elf64_Phdr *p = e ? (const Elf64_Phdr *)((const char *)e + e->e_phoff) : NULL;

    linker = (uintptr_t)e;
    for (int i = 0; e && i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > linker_bytes)
            linker_bytes = p[i].p_vaddr + p[i].p_memsz;
}
#endif

/* ---- the functions ---- */

INTERPOSE_UNLESS(rt_deaf_to_memory &&is_ordinary(p), void, free, (p), void *p)
{
    if (!p || is_early(p))
        return;
    if (__heddle_hint == HINT_RECORDED) /* operator delete's */
        hint_drop();
    else if (!BY_LINKER())
        rt_free(p, 0, WHERE_CALLER());
    if (KNOWN(free))
        REAL(free)(p);
}

INTERPOSE_UNLESS(rt_deaf_to_memory, void *, malloc, (bytes), size_t bytes)
{
    void *p;

    if (unlikely(!KNOWN(malloc)))
        return early_alloc(bytes, 16);
    p = REAL(malloc)(bytes);
    rt_malloced(p, bytes, hint_take(WHERE_CALLER()));
    return p;
}

INTERPOSE_UNLESS(rt_deaf_to_memory, void *, calloc, (n, size), size_t n, size_t size)
{
    size_t bytes;
    void *p;

    if (unlikely(!KNOWN(calloc)))
        return __builtin_mul_overflow(n, size, &bytes) ? NULL : early_alloc(bytes, 16);
    p = REAL(calloc)(n, size);
    rt_malloced(p, n * size, hint_take(WHERE_CALLER()));
    return p;
}

/* An early block moves to the ordinary heap. */
static void *early_move(void *old, size_t bytes, uint64_t where)
{
    size_t had = *(size_t *)((char *)old - EARLY_HEAD);
    char *p;

    hint_give(where);
    p = malloc(bytes);
    hint_drop();
    for (size_t i = 0; p && i < bytes && i < had; i++)
        p[i] = ((char *)old)[i];
    return p;
}

/* What all variants of realloc do around the real one. */
#define REALLOC(old, bytes, where, call)                                                           \
    ({                                                                                             \
        void *new;                                                                                 \
                                                                                                   \
        rt_free(old, 0, where);                                                                    \
        new = call;                                                                                \
        if (new)                                                                                   \
            rt_malloced(new, bytes, where);                                                        \
        else if ((old) && (bytes))                                                                 \
            rt_malloced(old, malloc_usable_size(old), where);                                      \
        new;                                                                                       \
    })

INTERPOSE_UNLESS(rt_deaf_to_memory &&is_ordinary(old), void *, realloc, (old, bytes), void *old,
                 size_t bytes)
{
    uint64_t where = hint_take(WHERE_CALLER());

    if (unlikely(is_early(old)))
        return early_move(old, bytes, where);
    if (unlikely(!KNOWN(realloc)))
        return old ? NULL : early_alloc(bytes, 16);
    return REALLOC(old, bytes, where, REAL(realloc)(old, bytes));
}

/* By realloc, as libc does it. */
INTERPOSE_UNLESS(rt_deaf_to_memory &&is_ordinary(old), void *, reallocarray, (old, n, size),
                 void *old, size_t n, size_t size)
{
    uint64_t where = hint_take(WHERE_CALLER());
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (unlikely(is_early(old)))
        return early_move(old, bytes, where);
    return REALLOC(old, bytes, where, REAL(reallocarray)(old, n, size));
}

INTERPOSE_UNLESS(rt_deaf_to_memory, void *, memalign, (align, bytes), size_t align, size_t bytes)
{
    void *p;

    if (unlikely(!KNOWN(memalign)))
        return early_alloc(bytes, align < 16 ? 16 : align);
    p = REAL(memalign)(align, bytes);
    rt_malloced(p, bytes, hint_take(WHERE_CALLER()));
    return p;
}

INTERPOSE_UNLESS(rt_deaf_to_memory, void *, aligned_alloc, (align, bytes), size_t align,
                 size_t bytes)
{
    void *p = REAL(aligned_alloc)(align, bytes);

    rt_malloced(p, bytes, hint_take(WHERE_CALLER()));
    return p;
}

INTERPOSE_UNLESS(rt_deaf_to_memory, int, posix_memalign, (out, align, bytes), void **out,
                 size_t align, size_t bytes)
{
    int r = REAL(posix_memalign)(out, align, bytes);

    if (r == 0)
        rt_malloced(*out, bytes, hint_take(WHERE_CALLER()));
    return r;
}

INTERPOSE_UNLESS(rt_deaf_to_memory, void *, valloc, (bytes), size_t bytes)
{
    void *p = REAL(valloc)(bytes);

    rt_malloced(p, bytes, hint_take(WHERE_CALLER()));
    return p;
}

INTERPOSE_UNLESS(rt_deaf_to_memory, void *, pvalloc, (bytes), size_t bytes)
{
    void *p = REAL(pvalloc)(bytes);

    rt_malloced(p, bytes, hint_take(WHERE_CALLER()));
    return p;
}

INTERPOSE(size_t, malloc_usable_size, void *p)
{
    if (unlikely(is_early(p)))
        return *(size_t *)((char *)p - EARLY_HEAD);
    return REAL(malloc_usable_size)(p);
}
