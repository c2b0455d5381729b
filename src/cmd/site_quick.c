/* site_quick.c - the sites of a pair by their numbers, without reading all tables
 *
 * The file is mapped, and of the section with the tables only the headers are looked at, each of
 * which says where the next one is: a page per module. Then two tables are unpacked. What is read
 * is checked as far as it is used; the reader proper (symbol/site_tables.c) checks it all when a
 * report is made.
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
            return s.sh_offset % 8 ? (struct bytes){ 0 } : part(file, s.sh_offset, s.sh_size);
    }
    return (struct bytes){ 0 };
}

/* ---- a module ---- */

/* The header at `at`; NULL: there is none. */
static const struct sites_packed *header_at(struct bytes tables, uint64_t at)
{
    const struct sites_packed *p = (const void *)part(tables, at, sizeof(*p)).at;

    return p && memcmp(p->magic, SITES_PACKED_MAGIC, sizeof(p->magic)) == 0 &&
                   sites_packed_is_valid(p, tables.count - at)
               ? p
               : NULL;
}

/* The one module whose id starts like that; NULL: none, or several. */
static const struct sites_packed *find_module(struct bytes tables, const char *name, size_t digits)
{
    const struct sites_packed *found = NULL;

    for (uint64_t at = 0; at < tables.count;) {
        const struct sites_packed *p = header_at(tables, at);

        if (p && site_id_starts(p->id, name, digits)) {
            if (found && memcmp(found->id, p->id, sizeof(p->id)) != 0)
                return NULL;
            found = found ? found : p;
        }
        at += p ? p->total_bytes : 8;
    }
    return found;
}

/* The kind of a site, 0 if there is none. */
static uint8_t site_quick_kind_of(const struct sites_packed *p, uint64_t index)
{
    char *table = xmalloc(p->table_bytes + 1);
    struct bytes all = { table, p->table_bytes };
    struct sites_header h;
    struct sites_site s = { 0 };

    if (!sites_unpack_table(p, table) || !copy(all, 0, &h, sizeof(h)) || index >= h.nsites ||
        !copy(all, sizeof(h) + index * sizeof(s), &s, sizeof(s)))
        s.kind = 0;
    free(table);
    return s.kind;
}

static bool find_site(struct bytes tables, const char *name, struct site_list *out)
{
    const struct sites_packed *p;
    uint64_t index;
    uint8_t kind;
    size_t digits;

    if (!site_id_split(name, &digits, &index) || !(p = find_module(tables, name, digits)))
        return false;
    kind = site_quick_kind_of(p, index);
    if (!kind || !site_is_access(kind))
        return false;
    GROW(out->at, out->cap, 1);
    out->at[0] = (struct prod_site){ { p->id[0], p->id[1] }, (uint32_t)index, kind };
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
