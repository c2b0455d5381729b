/* site_quick.c - the sites of a pair by their numbers, without reading the tables
 *
 * The file is mapped, and of the section with the tables only the headers are looked at, each of
 * which says where the next one is: a page per module. What is read is checked as far as it is
 * used; the reader proper (symbol/sites.c) checks it all when a report is made.
 */
#include "cmd/site_quick.h"
#include "base/alloc.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct bytes {
    const char *at;
    uint64_t count;
};

/* A part of it; count 0 where it is not all there. */
static struct bytes part(struct bytes b, uint64_t offset, uint64_t count)
{
    if (offset > b.count || count > b.count - offset)
        return (struct bytes){ 0 };
    return (struct bytes){ b.at + offset, count };
}

static bool copy(struct bytes b, uint64_t offset, void *to, size_t bytes)
{
    struct bytes p = part(b, offset, bytes);

    if (p.count)
        memcpy(to, p.at, bytes);
    return p.count != 0;
}

/* ---- the section ---- */

static bool section(struct bytes file, const Elf64_Ehdr *h, unsigned i, Elf64_Shdr *out)
{
    return copy(file, h->e_shoff + (uint64_t)i * sizeof(*out), out, sizeof(*out));
}

static struct bytes find_tables(struct bytes file)
{
    Elf64_Shdr s, names;
    Elf64_Ehdr h;

    if (!copy(file, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shentsize != sizeof(s) ||
        !section(file, &h, h.e_shstrndx, &names))
        return (struct bytes){ 0 };
    for (unsigned i = 0; i < h.e_shnum; i++) {
        struct bytes name;

        if (!section(file, &h, i, &s) || s.sh_type == SHT_NOBITS || s.sh_flags & SHF_COMPRESSED)
            continue;
        name = part(file, names.sh_offset + s.sh_name, sizeof(SITES_SECTION));
        if (name.count && memcmp(name.at, SITES_SECTION, sizeof(SITES_SECTION)) == 0)
            return part(file, s.sh_offset, s.sh_size);
    }
    return (struct bytes){ 0 };
}

/* ---- a module ---- */

/* The header at `at`, and where to go on; false: there is none. */
static bool read_header(struct bytes tables, uint64_t at, struct sites_header *h)
{
    return copy(tables, at, h, sizeof(*h)) &&
           memcmp(h->magic, SITES_MAGIC, sizeof(h->magic)) == 0 && h->total_bytes % 8 == 0 &&
           h->total_bytes <= tables.count - at &&
           sizeof(*h) + (uint64_t)h->nsites * sizeof(struct sites_site) <= h->total_bytes;
}

/* Where the one module is whose id starts like that; false: none, or several. */
static bool find_module(struct bytes tables, const char *name, size_t digits, uint64_t *found,
                        struct sites_header *out)
{
    struct sites_header h;
    bool is_found = false;

    for (uint64_t at = 0; at < tables.count;) {
        bool good = read_header(tables, at, &h);

        if (good && site_id_starts(h.id, name, digits)) {
            if (is_found && memcmp(out->id, h.id, sizeof(h.id)) != 0)
                return false;
            if (!is_found)
                *found = at;
            *out = is_found ? *out : h;
            is_found = true;
        }
        at += good ? h.total_bytes : 8;
    }
    return is_found;
}

static bool find_site(struct bytes tables, const char *name, struct site_list *out)
{
    struct sites_header h;
    struct sites_site s;
    uint64_t index, at;
    size_t digits;

    if (!site_id_split(name, &digits, &index) || !find_module(tables, name, digits, &at, &h) ||
        index >= h.nsites || !copy(tables, at + sizeof(h) + index * sizeof(s), &s, sizeof(s)) ||
        !site_is_access(s.kind))
        return false;
    GROW(out->at, out->cap, 1);
    out->at[0] = (struct prod_site){ { h.id[0], h.id[1] }, (uint32_t)index, s.kind };
    out->count = 1;
    return true;
}

/* ---- the file ---- */

static struct bytes map(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct bytes b = { 0 };
    struct stat st;
    void *m;

    if (fd < 0)
        return b;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (m != MAP_FAILED)
            b = (struct bytes){ m, (uint64_t)st.st_size };
    }
    close(fd);
    return b;
}

bool site_pair_quick(const char *program, const char *pair, struct site_list out[2])
{
    char *first = xstrndup(pair, strcspn(pair, ","));
    const char *second = strchr(pair, ',');
    struct bytes file = second ? map(program) : (struct bytes){ 0 }, tables = find_tables(file);
    bool good =
        tables.count && find_site(tables, first, &out[0]) && find_site(tables, second + 1, &out[1]);

    if (!good) {
        site_list_release(&out[0]);
        site_list_release(&out[1]);
    }
    if (file.count)
        munmap((void *)(uintptr_t)file.at, file.count);
    free(first);
    return good;
}
