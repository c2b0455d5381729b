/* site_tables.c - read and check the site tables of an ELF file
 *
 * The section is walked once at multiples of 8, and each table found is checked
 * as a whole before anybody sees it. Tables are copies in an arena, unpacked; of bitcode only its
 * place is noted, until somebody asks for it.
 */
#include "symbol/site_tables.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "symbol/tidy.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

/* The tables hold many equal fields, bitcode next to none: more than that is no table of ours. */
enum { RATIO_MAX = 1024 };

/* In front of each table that is handed out. */
struct bitcode {
    const char *packed; /* in the section; NULL: none */
    size_t packed_bytes, bytes;
    void *plain; /* owned; NULL: nobody has asked, or it is as it is */
};

struct site_tables {
    const char *section;
    size_t bytes;
    Elf *elf;       /* owned, or NULL: it has the section mapped */
    uint64_t *data; /* owned, or NULL: a copy of it */
    bool small;     /* nobody will ask for bitcode */
    struct arena copies;
    const struct sites_header **tables; /* by id */
    size_t count, cap;
    size_t damaged;
};

static struct bitcode *bitcode_of(const struct sites_header *h)
{
    return (struct bitcode *)(uintptr_t)h - 1;
}

void site_tables_close(struct site_tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        free(bitcode_of(t->tables[i])->plain);
    free(t->data);
    arena_release(&t->copies);
    elf_end(t->elf);
    free(t->tables);
    free(t);
}

size_t site_tables_count(const struct site_tables *t)
{
    return t->count;
}

const struct sites_header *site_tables_get(const struct site_tables *t, size_t i)
{
    return t->tables[i];
}

size_t site_tables_damaged(const struct site_tables *t)
{
    return t->damaged;
}

static int compare_ids(const uint64_t *a, const uint64_t *b)
{
    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Equal ids (one object linked twice) are equal tables: any order will do. */
static int compare_tables(const void *a, const void *b)
{
    const struct sites_header *x = *(const struct sites_header *const *)a;
    const struct sites_header *y = *(const struct sites_header *const *)b;
    int c = compare_ids(x->id, y->id);

    return c ? c : x < y ? -1 : x > y;
}

const struct sites_header *site_tables_find(const struct site_tables *t, const uint64_t id[2])
{
    size_t low = 0, high = t->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_ids(t->tables[middle]->id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->count && compare_ids(t->tables[low]->id, id) == 0 ? t->tables[low] : NULL;
}

void sites_file(const struct sites_header *h, uint32_t file, struct buf *out)
{
    const char *folder = sites_string(h, h->directory), *name = sites_string(h, file);

    if (*name)
        tidy_path(out, *folder ? folder : NULL, name);
}

/* ---- packed parts ---- */

static bool part_is_valid(uint64_t bytes, uint64_t packed)
{
    return packed <= bytes && bytes / RATIO_MAX <= packed;
}

bool sites_packed_is_valid(const struct sites_packed *p, uint64_t room)
{
    uint64_t rest = p->total_bytes - sizeof(*p);

    return p->total_bytes >= sizeof(*p) && p->total_bytes <= room && p->total_bytes % 8 == 0 &&
           p->table_packed <= rest && p->bitcode_packed <= rest - p->table_packed &&
           part_is_valid(p->table_bytes, p->table_packed) &&
           part_is_valid(p->bitcode_bytes, p->bitcode_packed);
}

static bool unpack(void *to, uint64_t bytes, const void *packed, uint64_t packed_bytes)
{
    if (bytes == packed_bytes) {
        memcpy(to, packed, bytes);
        return true;
    }
    return ZSTD_decompress(to, bytes, packed, packed_bytes) == bytes;
}

bool sites_unpack_table(const struct sites_packed *p, void *to)
{
    return unpack(to, p->table_bytes, p + 1, p->table_packed);
}

bool sites_has_bitcode(const struct sites_header *h)
{
    return bitcode_of(h)->packed;
}

const void *sites_bitcode(const struct sites_header *h, size_t *bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct bitcode *b = bitcode_of(h);
    const void *plain;

    *bytes = b->bytes;
    if (!b->packed || b->packed_bytes == b->bytes)
        return b->packed;
    pthread_mutex_lock(&lock);
    if (!b->plain) {
        b->plain = xmalloc(b->bytes + 1);
        if (!unpack(b->plain, b->bytes, b->packed, b->packed_bytes)) {
            free(b->plain);
            b->plain = NULL;
        }
    }
    plain = b->plain;
    pthread_mutex_unlock(&lock);
    return plain;
}

/* ---- checking ---- */

/* Where the string area ends, 0 where the numbers do not fit the blob. */
static uint64_t strings_end(const struct sites_header *h)
{
    uint64_t end = sizeof(*h) + (uint64_t)h->nsites * sizeof(struct sites_site) +
                   (uint64_t)h->nframes * sizeof(struct sites_frame) + h->string_bytes;

    return end <= h->total_bytes ? end : 0;
}

static bool extent_is_valid(const struct sites_header *h, uint64_t room)
{
    uint64_t end;

    if (h->total_bytes < sizeof(*h) || h->total_bytes > room || h->total_bytes % 8)
        return false;
    end = strings_end(h);
    if (!end)
        return false;
    if (h->bitcode_offset == 0)
        return h->bitcode_bytes == 0;
    return h->bitcode_offset >= end && h->bitcode_offset <= h->total_bytes &&
           h->bitcode_bytes <= h->total_bytes - h->bitcode_offset;
}

/* Offset 0 is the empty string and the last byte ends the last one: then any offset in range is
 * a string. */
static bool strings_are_valid(const struct sites_header *h)
{
    const char *s = sites_string(h, 0);

    return h->string_bytes > 0 && s[0] == 0 && s[h->string_bytes - 1] == 0 &&
           h->source < h->string_bytes && h->directory < h->string_bytes;
}

static bool sites_are_valid(const struct sites_header *h)
{
    for (uint32_t i = 0; i < h->nsites; i++) {
        const struct sites_site *s = sites_site(h, i);

        if (s->file >= h->string_bytes || s->function >= h->string_bytes ||
            s->variable >= h->string_bytes || s->inlined_at > h->nframes)
            return false;
    }
    for (uint32_t i = 0; i < h->nframes; i++) {
        const struct sites_frame *f = sites_frame(h, i);

        if (f->file >= h->string_bytes || f->function >= h->string_bytes ||
            f->inlined_at > h->nframes)
            return false;
    }
    return true;
}

/* Follow each chain until a frame that an earlier chain has met; meeting this chain's own mark
 * is a circle. */
static bool chains_end(const struct sites_header *h)
{
    uint32_t *met = xcalloc((size_t)h->nframes + 1, sizeof(*met));
    bool good = true;

    for (uint32_t i = 0; i < h->nframes && good; i++) {
        uint32_t at = i + 1;

        while (at && !met[at - 1]) {
            met[at - 1] = i + 1;
            at = sites_frame(h, at - 1)->inlined_at;
        }
        good = !at || met[at - 1] != i + 1;
    }
    free(met);
    return good;
}

static bool table_is_valid(const struct sites_header *h, uint64_t room)
{
    return extent_is_valid(h, room) && strings_are_valid(h) && sites_are_valid(h) && chains_end(h);
}

/* ---- reading ---- */

/* Room for a table, and what is known of its bitcode. */
static struct sites_header *new_table(struct site_tables *t, uint64_t bytes, struct bitcode code)
{
    struct bitcode *b = arena_alloc(&t->copies, sizeof(*b) + bytes);

    *b = t->small || !code.bytes ? (struct bitcode){ 0 } : code;
    return (struct sites_header *)(b + 1);
}

static void add_table(struct site_tables *t, const struct sites_header *h)
{
    GROW(t->tables, t->cap, t->count + 1);
    t->tables[t->count++] = h;
}

/* A blob of the first version. */
static bool take_plain(struct site_tables *t, const struct sites_header *h, uint64_t room)
{
    struct bitcode code = { 0 };
    struct sites_header *copy;

    if (!table_is_valid(h, room))
        return false;
    if (h->bitcode_offset)
        code = (struct bitcode){ .packed = (const char *)h + h->bitcode_offset,
                                 .packed_bytes = h->bitcode_bytes,
                                 .bytes = h->bitcode_bytes };
    copy = new_table(t, strings_end(h), code);
    memcpy(copy, h, strings_end(h));
    copy->total_bytes = strings_end(h);
    copy->bitcode_offset = copy->bitcode_bytes = 0;
    add_table(t, copy);
    return true;
}

/* What is unpacked has to be a table all of it, and of that module. */
static bool take_packed(struct site_tables *t, const struct sites_packed *p, uint64_t room)
{
    struct sites_header *h;

    if (!sites_packed_is_valid(p, room) || p->table_bytes < sizeof(*h))
        return false;
    h = new_table(t, p->table_bytes,
                  (struct bitcode){ .packed = (const char *)(p + 1) + p->table_packed,
                                    .packed_bytes = p->bitcode_packed,
                                    .bytes = p->bitcode_bytes });
    if (!sites_unpack_table(p, h) || memcmp(h->magic, SITES_MAGIC, sizeof(h->magic)) != 0 ||
        memcmp(h->id, p->id, sizeof(h->id)) != 0 || h->bitcode_offset ||
        !table_is_valid(h, p->table_bytes))
        return false;
    add_table(t, h);
    return true;
}

/* What has been read will not be read again: its pages need not stay ours. (Should libelf have
 * read the file instead of mapping it, they become zero.) */
static void drop_pages(const char *from, const char *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t low = ((uintptr_t)from + page - 1) & ~(page - 1), high = (uintptr_t)to & ~(page - 1);

    if (low < high)
        (void)madvise((void *)low, high - low, MADV_DONTNEED);
}

/* The blob at `at`. Returns its bytes; 0: there is none. */
static uint64_t sites_take(struct site_tables *t, size_t at)
{
    const struct sites_header *h = (const void *)(t->section + at);
    const struct sites_packed *p = (const void *)(t->section + at);
    bool packed = memcmp(p->magic, SITES_PACKED_MAGIC, sizeof(p->magic)) == 0;

    _Static_assert(sizeof(*p) <= sizeof(*h), "both can be looked at");
    if (!packed && memcmp(h->magic, SITES_MAGIC, sizeof(h->magic)) != 0)
        return 0;
    if (packed ? take_packed(t, p, t->bytes - at) : take_plain(t, h, t->bytes - at))
        return p->total_bytes;
    t->damaged++;
    return 0;
}

static void scan(struct site_tables *t)
{
    size_t dropped = 0;

    for (size_t at = 0; at + sizeof(struct sites_header) <= t->bytes;) {
        uint64_t bytes = sites_take(t, at);

        at += bytes ? bytes : 8;
        if (bytes && t->small) {
            drop_pages(t->section + dropped, t->section + at);
            dropped = at & ~(size_t)65535;
        }
    }
    if (t->count)
        qsort(t->tables, t->count, sizeof(*t->tables), compare_tables);
}

static struct site_tables *parse(const void *section, size_t bytes, bool small)
{
    struct site_tables *t = xcalloc(1, sizeof(*t));

    t->small = small;
    t->bytes = bytes;
    t->data = xcalloc(bytes / 8 + 1, 8);
    t->section = (const char *)t->data;
    if (bytes)
        memcpy(t->data, section, bytes);
    scan(t);
    if (small) {
        free(t->data);
        t->data = NULL;
    }
    return t;
}

struct site_tables *site_tables_parse(const void *section, size_t bytes)
{
    return parse(section, bytes, false);
}

/* Most of it is bitcode, of which nobody may want to know: it stays where the file is mapped. */
static struct site_tables *take_mapped(Elf *elf, const Elf_Data *d, bool small)
{
    struct site_tables *t = xcalloc(1, sizeof(*t));

    t->elf = small ? NULL : elf;
    t->small = small;
    t->bytes = d->d_size;
    t->section = d->d_buf;
    scan(t);
    return t;
}

static Elf_Data *find_section(Elf *elf)
{
    size_t names;
    Elf_Scn *scn = NULL;

    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr header;
        const char *name;

        if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
            continue;
        name = elf_strptr(elf, names, header.sh_name);
        if (name && strcmp(name, SITES_SECTION) == 0)
            return elf_rawdata(scn, NULL);
    }
    return NULL;
}

static struct site_tables *open_file(const char *elf_path, bool small, struct error *err)
{
    struct site_tables *t = NULL;
    int fd = open(elf_path, O_RDONLY | O_CLOEXEC);
    Elf *elf;

    if (fd < 0) {
        error_set(err, "cannot open '%s': %s", elf_path, strerror(errno));
        return NULL;
    }
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF) {
        const Elf_Data *d = find_section(elf);

        if (d && d->d_buf && (uintptr_t)d->d_buf % 8 == 0 && elf_cntl(elf, ELF_C_FDREAD) == 0)
            t = take_mapped(elf, d, small);
        else
            t = parse(d ? d->d_buf : NULL, d && d->d_buf ? d->d_size : 0, small);
    } else {
        error_set(err, "cannot read '%s': not an ELF file", elf_path);
    }
    if (!t || !t->elf)
        elf_end(elf);
    close(fd);
    return t;
}

struct site_tables *site_tables_open(const char *elf_path, struct error *err)
{
    return open_file(elf_path, false, err);
}

struct site_tables *site_tables_open_small(const char *elf_path, struct error *err)
{
    return open_file(elf_path, true, err);
}
