/* only.c - recording only some sites (only.h) */
#include "runtime/core/only.h"
#include "abi/rt_prod.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

uint8_t *only_bits;
static const struct prod_site *sites;
static size_t count;

static void *map(size_t bytes, int flags, long fd)
{
    void *m =
        (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, fd, 0L);

    return m == MAP_FAILED ? NULL : m;
}

/* The file is small and stays mapped: modules may come later. */
void only_read(const char *path)
{
    struct stat s = { 0 };
    long fd = syscall(SYS_open, path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && fstat((int)fd, &s) == 0 && s.st_size > 0)
        sites = map((size_t)s.st_size, 0, fd);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (!sites) {
        rt_say("cannot read '%s': all sites are recorded", path);
        return;
    }
    count = (size_t)s.st_size / sizeof(*sites);
    only_bits = map(ONLY_SITES / 8, MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

void only_module(const struct heddle_module *m)
{
    for (size_t i = 0; only_bits && i < count; i++) {
        uint64_t site = (uint64_t)m->base + sites[i].index;

        if (sites[i].module[0] == m->id[0] && sites[i].module[1] == m->id[1] &&
            sites[i].index < m->sites && site < ONLY_SITES)
            only_bits[site >> 3] |= (uint8_t)(1u << (site & 7));
    }
}
