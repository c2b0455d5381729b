/* elf_file.c - open an ELF file, check its build id, find its debug information */
#include "symbol/elf_file.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char *debug_directory(void)
{
    const char *set = getenv("HEDDLE_DEBUG_DIRECTORY");

    return set && set[0] ? set : "/usr/lib/debug";
}

static bool build_id_is(Elf *elf, const uint8_t *id, size_t bytes)
{
    const void *own;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &own);

    return n > 0 && (size_t)n == bytes && memcmp(own, id, bytes) == 0;
}

static bool has_debug_info(Elf *elf)
{
    size_t names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrstrndx(elf, &names) < 0)
        return false;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;

        if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
            return h.sh_type != SHT_NOBITS;
    }
    return false;
}

/* Open a file as ELF; NULL with errno (0: not an ELF file). */
static Elf *open_elf(const char *path, int *fd)
{
    struct stat st;
    Elf *elf;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (*fd < 0)
        return NULL;
    errno = 0;
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode)) {
        elf = elf_begin(*fd, ELF_C_READ_MMAP, NULL);
        if (elf && elf_kind(elf) == ELF_K_ELF)
            return elf;
        elf_end(elf);
    }
    close(*fd);
    *fd = -1;
    errno = 0;
    return NULL;
}

static bool checksum_is(int fd, uint32_t expected)
{
    struct stat st;
    void *map;
    uLong crc = crc32(0, NULL, 0);

    if (fstat(fd, &st) < 0 || st.st_size <= 0)
        return false;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return false;
    crc = crc32_z(crc, map, (size_t)st.st_size);
    munmap(map, (size_t)st.st_size);
    return crc == expected;
}

/* What a separate file must have: the build id, where there is one, else the checksum. */
struct match {
    const uint8_t *id;
    size_t id_bytes;
    uint32_t checksum;
};

static bool try_debug_file(struct elf_file *f, const char *path, const struct match *m)
{
    int fd;
    Elf *elf = open_elf(path, &fd);

    if (!elf)
        return false;
    if (has_debug_info(elf) &&
        (m->id_bytes ? build_id_is(elf, m->id, m->id_bytes) : checksum_is(fd, m->checksum))) {
        f->debug_elf = elf;
        f->debug_fd = fd;
        return true;
    }
    elf_end(elf);
    close(fd);
    return false;
}

static bool find_by_build_id(struct elf_file *f, const struct match *m)
{
    struct buf path = { 0 };
    bool found = false;

    if (m->id_bytes > 1) {
        buf_addf(&path, "%s/.build-id/%02x/", debug_directory(), m->id[0]);
        for (size_t i = 1; i < m->id_bytes; i++)
            buf_addf(&path, "%02x", m->id[i]);
        buf_addstr(&path, ".debug");
        found = try_debug_file(f, path.data, m);
    }
    buf_release(&path);
    return found;
}

/* `link` is a plain file name; what contains a slash is not followed out of the folder. */
static bool find_by_link(struct elf_file *f, const char *link, const struct match *m)
{
    const char *slash = strrchr(f->path, '/');
    char *folder = slash ? xstrndup(f->path, (size_t)(slash - f->path)) : xasprintf(".");
    char *real = realpath(folder[0] ? folder : "/", NULL);
    char *tries[3] = {
        xasprintf("%s/%s", folder, link),
        xasprintf("%s/.debug/%s", folder, link),
        xasprintf("%s%s/%s", debug_directory(), real ? real : folder, link),
    };
    bool found = false;

    for (int i = 0; i < 3; i++) {
        found = found || (!strchr(link, '/') && try_debug_file(f, tries[i], m));
        free(tries[i]);
    }
    free(real);
    free(folder);
    return found;
}

static void find_debug_file(struct elf_file *f)
{
    struct match m = { 0 };
    const void *id;
    ssize_t n = dwelf_elf_gnu_build_id(f->elf, &id);
    GElf_Word checksum = 0;
    const char *link = dwelf_elf_gnu_debuglink(f->elf, &checksum);

    if (n > 0) {
        m.id = id;
        m.id_bytes = (size_t)n;
    }
    m.checksum = checksum;
    if (!find_by_build_id(f, &m) && link)
        find_by_link(f, link, &m);
}

void elf_file_open(struct elf_file *f, const char *path, const uint8_t *id, size_t id_bytes,
                   bool debug)
{
    *f = (struct elf_file){ .fd = -1, .debug_fd = -1, .path = xstrndup(path, strlen(path)) };
    elf_version(EV_CURRENT);
    f->elf = open_elf(path, &f->fd);
    if (!f->elf) {
        f->problem = errno ? xasprintf("cannot open '%s': %s", path, strerror(errno))
                           : xasprintf("cannot read '%s': not an ELF file", path);
        return;
    }
    if (id_bytes && !build_id_is(f->elf, id, id_bytes)) {
        f->problem = xasprintf("'%s' has another build id than the recorded one", path);
        elf_end(f->elf);
        f->elf = NULL;
        return;
    }
    if (!debug)
        return;
    if (!has_debug_info(f->elf))
        find_debug_file(f);
    f->dwarf = dwarf_begin_elf(f->debug_elf ? f->debug_elf : f->elf, DWARF_C_READ, NULL);
}

void elf_file_close(struct elf_file *f)
{
    dwarf_end(f->dwarf);
    elf_end(f->debug_elf);
    elf_end(f->elf);
    if (f->debug_fd >= 0)
        close(f->debug_fd);
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f->problem);
    *f = (struct elf_file){ .fd = -1, .debug_fd = -1 };
}
