/* mmap.c - mappings are objects, too
 *
 * Fresh pages at an address that was used before are new variables. All kinds
 * of mappings count; those of the runtime itself are made by system calls and
 * are not seen, nor are malloc's and the thread stacks', which libc maps inside.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/core/rt.h"

#define PAGE           ((size_t)4096)
#define WHOLE_PAGES(n) (((n) + PAGE - 1) & ~(PAGE - 1))

/* A fixed mapping ends what was there. If it fails nobody can tell what is left: the kernel may
 * have unmapped the range already. */
#define MAP(name)                                                                                  \
    uint64_t where = WHERE_CALLER();                                                               \
    bool replaces = (flags & MAP_FIXED) && (flags & MAP_FIXED_NOREPLACE) != MAP_FIXED_NOREPLACE;   \
    void *p;                                                                                       \
                                                                                                   \
    if (replaces && address)                                                                       \
        rt_free(address, WHOLE_PAGES(bytes), where);                                               \
    p = REAL(name)(address, bytes, protection, flags, fd, offset);                                 \
    if (p != MAP_FAILED)                                                                           \
        rt_alloc(p, WHOLE_PAGES(bytes), where);                                                    \
    return p;

INTERPOSE(void *, mmap, void *address, size_t bytes, int protection, int flags, int fd,
          off_t offset){ MAP(mmap) }

INTERPOSE(void *, mmap64, void *address, size_t bytes, int protection, int flags, int fd,
          off64_t offset){ MAP(mmap64) }

INTERPOSE(int, munmap, void *address, size_t bytes)
{
    if (address && bytes && !((uintptr_t)address & (PAGE - 1)))
        rt_free(address, WHOLE_PAGES(bytes), WHERE_CALLER());
    return REAL(munmap)(address, bytes);
}

/* Shrinking and growing without MREMAP_MAYMOVE leave the common part as it is; otherwise the old
 * mapping ends, for it may move. */
INTERPOSE(void *, mremap, void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    uint64_t where = WHERE_CALLER();
    size_t had = WHOLE_PAGES(old_bytes), has = WHOLE_PAGES(bytes);
    bool fixed = flags & MREMAP_FIXED, stays = !fixed && (!(flags & MREMAP_MAYMOVE) || has <= had);
    void *target = NULL, *p;
    va_list ap;

    va_start(ap, flags);
    if (fixed)
        target = va_arg(ap, void *);
    va_end(ap);
    if (target)
        rt_free(target, has, where);
    if (!stays)
        rt_free(old, had, where);
    else if (has < had)
        rt_free((char *)old + has, had - has, where);
    p = fixed ? REAL(mremap)(old, old_bytes, bytes, flags, target)
              : REAL(mremap)(old, old_bytes, bytes, flags);
    if (!stays) {
        rt_alloc(p == MAP_FAILED ? old : p, p == MAP_FAILED ? had : has, where);
    } else if (p == MAP_FAILED) {
        if (has < had)
            rt_alloc((char *)old + has, had - has, where);
    } else if (has > had) {
        rt_alloc((char *)old + had, has - had, where);
    }
    return p;
}
