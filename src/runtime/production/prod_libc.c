/* prod_libc.c - hits of calls of the C library (prod_libc.h, pass/production/production_libc.c)
 *
 * A function tells what it accesses right before its call, or right after it where only then it is
 * known what was touched (read, fgets). Both are good enough for chase, which waits and looks at
 * that moment: between the telling and the access nothing releases or acquires that the model knows
 * of, but for what comes into a call that reads a file (docs/design/production.md, "Why a
 * sighting is a race").
 *
 * Limit: of a block that is freed the first bytes count, as far as every allocator has them: its
 * size is the allocator's to know, and asking a foreign one (malloc_usable_size) may crash.
 */
#include "runtime/production/prod_libc.h"
#include "runtime/core/state.h"

enum { FREED_BYTES = 8 };

static _Thread_local struct prod_entry entered __attribute__((tls_model("initial-exec")));

EXPORT void __heddle_hit_free(void *p, uint64_t bytes, uint32_t site);

struct prod_entry prod_libc_enter(struct prod_entry from)
{
    struct prod_entry before = entered;

    entered = from;
    return before;
}

void prod_libc_leave(struct prod_entry before)
{
    entered = before;
}

static void prod_libc_tell(const struct rt_mode *mode, struct prod_hit *h)
{
    int saved = errno;

    h->read = !h->write;
    h->op = h->write ? OP_WRITE : OP_READ;
    rt_busy_begin();
    mode->hit(h);
    rt_busy_end();
    errno = saved;
}

void prod_libc_access(const void *p, uint64_t bytes, bool write, uint64_t where)
{
    struct prod_hit h = { .address = (uintptr_t)p,
                          .bytes = bytes,
                          .site = (uint32_t)where,
                          .write = write,
                          .call = true,
                          .pc = entered.pc - 1,
                          .from = entered };
    const struct rt_mode *mode = rt_mode;

    if (!bytes || !mode || tls.busy || where >> 32 || !patch_is_on(h.site) || prod_is_excused(&h))
        return;
    prod_libc_tell(mode, &h);
}

/* Before it is freed. */
void __heddle_hit_free(void *p, uint64_t bytes, uint32_t site)
{
    struct prod_hit h = { .address = (uintptr_t)p,
                          .bytes = bytes ? bytes : FREED_BYTES,
                          .site = site,
                          .write = true,
                          .from = prod_entry(__builtin_frame_address(0)) };
    const struct rt_mode *mode = rt_mode;

    h.pc = h.from.pc - 1;
    if (p && mode && !tls.busy && patch_is_on(site) && !prod_is_excused(&h))
        prod_libc_tell(mode, &h);
}
