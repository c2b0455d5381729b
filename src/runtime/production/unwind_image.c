/* unwind_image.c - in which image an instruction lies, and where its unwind tables are */
#include "runtime/production/unwind_image.h"

#include <dlfcn.h>
#include <features.h>
#include <link.h>
#include <stddef.h>

#if !defined(HEDDLE_STATIC) && __GLIBC_PREREQ(2, 35)
/* Weak: the C library of the machine that the program runs on may be older. */
extern int _dl_find_object(void *pc, struct dl_find_object *found) __attribute__((weak));

static bool loader_knows(void)
{
    return _dl_find_object;
}

static bool ask_loader(uintptr_t pc, struct unwind_image *out)
{
    struct dl_find_object found;

    if (_dl_find_object((void *)pc, &found) || !found.dlfo_eh_frame)
        return false;
    *out = (struct unwind_image){ found.dlfo_eh_frame, found.dlfo_map_start, found.dlfo_map_end };
    return true;
}
#else
/* In static programs what the C library says is the extent of the code alone. */
static bool loader_knows(void)
{
    return false;
}

static bool ask_loader(uintptr_t pc, struct unwind_image *out)
{
    (void)pc;
    (void)out;
    return false;
}
#endif

/* ---- our own table ---- */

/* Pieces of code; a program has some tens, one with many plugins some hundreds. More end stacks. */
enum { PIECES = 1024 };

/* `version` is odd while they change. */
static struct piece {
    uintptr_t low, end; /* of the code */
    uintptr_t header, tables, tables_end;
} pieces[PIECES];
static uint32_t count, version;
/* Who comes while somebody makes the table leaves a mark: then it is made once more. Nobody waits:
 * a child of fork() may have the lock of a thread that it does not have. */
static uint32_t updating, again;

#define LOAD(x)     __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)

static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return &info->dlpi_phdr[i];
    return NULL;
}

static uintptr_t header_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    return 0;
}

static int add_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t header = header_of(info), tables;
    const ElfW(Phdr) *in = header ? segment_of(info, header) : NULL;
    uint32_t *n = arg;

    (void)size;
    if (!in)
        return 0;
    tables = info->dlpi_addr + in->p_vaddr;
    for (int i = 0; i < info->dlpi_phnum && *n < PIECES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        struct piece *to = &pieces[*n];

        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        STORE(to->low, info->dlpi_addr + p->p_vaddr);
        STORE(to->end, info->dlpi_addr + p->p_vaddr + p->p_memsz);
        STORE(to->header, header);
        STORE(to->tables, tables);
        STORE(to->tables_end, tables + in->p_memsz);
        ++*n;
    }
    return 0;
}

static void make_table(void)
{
    uint32_t n = 0;

    __atomic_fetch_add(&version, 1, __ATOMIC_SEQ_CST);
    dl_iterate_phdr(add_image, &n);
    STORE(count, n);
    __atomic_fetch_add(&version, 1, __ATOMIC_SEQ_CST);
}

void unwind_image_update(void)
{
    if (loader_knows())
        return;
    __atomic_store_n(&again, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&again, __ATOMIC_SEQ_CST) &&
           !__atomic_exchange_n(&updating, 1, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&again, 0, __ATOMIC_SEQ_CST);
        make_table();
        __atomic_store_n(&updating, 0, __ATOMIC_SEQ_CST);
    }
}

bool unwind_image_find(uintptr_t pc, struct unwind_image *out)
{
    uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE), n = LOAD(count);
    bool found = false;

    if (loader_knows())
        return ask_loader(pc, out);
    for (uint32_t i = 0; i < n && !found; i++) {
        const struct piece *p = &pieces[i];

        found = LOAD(p->low) <= pc && pc < LOAD(p->end);
        if (found)
            *out = (struct unwind_image){ (const uint8_t *)LOAD(p->header),
                                          (const uint8_t *)LOAD(p->tables),
                                          (const uint8_t *)LOAD(p->tables_end) };
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return found && !(before & 1) && LOAD(version) == before;
}
