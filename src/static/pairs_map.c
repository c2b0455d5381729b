/* pairs_map.c - statically possible pairs in the form that is mapped (docs/format/pairs.md)
 *
 * A program may have millions of pairs of classes, and a command that only wants to know which
 * sites are in some pair must not pay for them. So the arrays of struct pairs are in the file as
 * they are in memory, the sites apart from the pairs. Little-endian, this machine's layout.
 *
 * pairs_map() checks the head, the images and the sites; pairs_check() what is left. A file that
 * was damaged is refused by one of them, and never leads outside of the mapping.
 */
#include "base/alloc.h"
#include "static/pairs_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
    char magic[8];
    uint64_t bytes; /* of the file */
    uint64_t total; /* pairs of sites */
    uint64_t npairs;
    uint32_t nsites, ngroups, nimages, lockset;
    /* where they begin: images are two strings each, build id and path, with their NUL */
    uint64_t images, sites, start, members, pairs;
};
_Static_assert(sizeof(struct head) == 88, "part of the format");
_Static_assert(sizeof(struct pairs_site) == 32, "part of the format");

/* ---- writing ---- */

static uint64_t aligned(uint64_t n)
{
    return (n + 7) & ~UINT64_C(7);
}

static uint64_t image_bytes(const struct pairs *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->nimages; i++)
        n += strlen(p->images[i].build_id) + strlen(p->images[i].path) + 2;
    return n;
}

static void pairs_map_put(FILE *out, const void *data, uint64_t bytes)
{
    static const char zeros[8];

    fwrite(data, 1, bytes, out);
    fwrite(zeros, 1, aligned(bytes) - bytes, out);
}

static struct head head_of(const struct pairs *p)
{
    struct head h = { .total = p->total,
                      .npairs = p->npairs,
                      .nsites = (uint32_t)p->nsites,
                      .ngroups = p->ngroups,
                      .nimages = (uint32_t)p->nimages,
                      .lockset = p->lockset,
                      .images = sizeof(h) };

    memcpy(h.magic, PAIRS_MAP_MAGIC, sizeof(h.magic));
    h.sites = h.images + aligned(image_bytes(p));
    h.start = h.sites + p->nsites * sizeof(*p->sites);
    h.members = h.start + aligned((p->ngroups + UINT64_C(1)) * sizeof(*p->start));
    h.pairs = h.members + aligned(p->nsites * sizeof(*p->members));
    h.bytes = h.pairs + p->npairs * sizeof(*p->pairs);
    return h;
}

static void put_images(const struct pairs *p, FILE *out)
{
    static const char zeros[8];
    uint64_t n = image_bytes(p);

    for (size_t i = 0; i < p->nimages; i++) {
        fwrite(p->images[i].build_id, 1, strlen(p->images[i].build_id) + 1, out);
        fwrite(p->images[i].path, 1, strlen(p->images[i].path) + 1, out);
    }
    fwrite(zeros, 1, aligned(n) - n, out);
}

/* Padding of the struct is 0, so that equal pairs are equal files. */
static void put_sites(const struct pairs *p, FILE *out)
{
    for (size_t i = 0; i < p->nsites; i++) {
        struct pairs_site s;

        memset(&s, 0, sizeof(s));
        s.id = p->sites[i].id;
        s.group = p->sites[i].group;
        fwrite(&s, 1, sizeof(s), out);
    }
}

void pairs_map_write(const struct pairs *p, FILE *out)
{
    struct head h = head_of(p);

    fwrite(&h, 1, sizeof(h), out);
    put_images(p, out);
    put_sites(p, out);
    pairs_map_put(out, p->start, (p->ngroups + UINT64_C(1)) * sizeof(*p->start));
    pairs_map_put(out, p->members, p->nsites * sizeof(*p->members));
    pairs_map_put(out, p->pairs, p->npairs * sizeof(*p->pairs));
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

uint64_t pairs_hash(const struct pairs *p)
{
    uint64_t h = mix(p->lockset, p->nimages);

    for (size_t i = 0; i < p->nimages; i++)
        for (const char *t = p->images[i].build_id; *t; t++)
            h = mix(h, (unsigned char)*t);
    for (size_t i = 0; i < p->nsites; i++) {
        const struct prod_site *s = &p->sites[i].id;

        h = mix(mix(mix(h, s->module[0]), s->module[1]), (uint64_t)s->index << 32 | s->flags);
        h = mix(h, p->sites[i].group);
    }
    for (size_t i = 0; i < p->npairs; i++)
        h = mix(h, (uint64_t)p->pairs[i].a << 32 | p->pairs[i].b);
    return h;
}

/* ---- mapping ---- */

static bool has_room(const struct head *h, uint64_t at, uint64_t n, uint64_t each)
{
    return (at & 7) == 0 && at <= h->bytes && n <= (h->bytes - at) / each;
}

static const char *check_head(const struct head *h, uint64_t bytes)
{
    if (bytes < sizeof(*h) || memcmp(h->magic, PAIRS_MAP_MAGIC, sizeof(h->magic)) != 0)
        return "not a file of pairs";
    if (h->bytes != bytes || h->ngroups == UINT32_MAX || !h->nimages ||
        !has_room(h, h->images, 2 * (uint64_t)h->nimages, 1) ||
        !has_room(h, h->sites, h->nsites, sizeof(struct pairs_site)) ||
        !has_room(h, h->start, h->ngroups + UINT64_C(1), sizeof(uint32_t)) ||
        !has_room(h, h->members, h->nsites, sizeof(uint32_t)) ||
        !has_room(h, h->pairs, h->npairs, sizeof(struct pairs_groups)))
        return "cut off";
    return NULL;
}

static bool is_before(const struct prod_site *a, const struct prod_site *b)
{
    for (int i = 0; i < 2; i++)
        if (a->module[i] != b->module[i])
            return a->module[i] < b->module[i];
    return a->index < b->index;
}

static const char *check_sites(const struct pairs *p)
{
    for (size_t i = 0; i < p->nsites; i++) {
        if (p->sites[i].group >= p->ngroups)
            return "no such class";
        if (i && !is_before(&p->sites[i - 1].id, &p->sites[i].id))
            return "sites are not in order";
    }
    return NULL;
}

static const char *take_images(struct pairs *p, const struct head *h)
{
    const char *at = (const char *)h + h->images, *end = (const char *)h + h->bytes;

    for (uint32_t i = 0; i < h->nimages; i++) {
        size_t id = strnlen(at, (size_t)(end - at));
        const char *path = at + id + 1;
        size_t n = path < end ? strnlen(path, (size_t)(end - path)) : 0;

        if (path >= end || path + n >= end)
            return "cut off";
        GROW(p->images, p->images_cap, p->nimages + 1);
        p->images[p->nimages++] = (struct pairs_image){ xstrndup(path, n), xstrndup(at, id) };
        at = path + n + 1;
    }
    return NULL;
}

static const char *pairs_map_take(struct pairs *p, char *base, uint64_t bytes)
{
    const struct head *h = (const struct head *)(const void *)base;
    const char *wrong = check_head(h, bytes);

    if (wrong)
        return wrong;
    p->lockset = h->lockset != 0;
    p->sites = (void *)(base + h->sites);
    p->nsites = h->nsites;
    p->ngroups = h->ngroups;
    p->pairs = (void *)(base + h->pairs);
    p->npairs = h->npairs;
    p->start = (void *)(base + h->start);
    p->members = (void *)(base + h->members);
    p->total = h->total;
    wrong = take_images(p, h);
    return wrong ? wrong : check_sites(p);
}

int pairs_map(struct pairs *p, const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *wrong;
    struct stat st = { 0 };
    void *m = MAP_FAILED;

    *p = (struct pairs){ 0 };
    if (fd >= 0)
        errno = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (m == MAP_FAILED)
        error_set(err, "cannot read '%s': %s", path, errno ? strerror(errno) : "empty");
    if (fd >= 0)
        close(fd);
    if (m == MAP_FAILED)
        return -1;
    p->mapping = m;
    p->mapping_bytes = (size_t)st.st_size;
    wrong = pairs_map_take(p, m, (uint64_t)st.st_size);
    if (!wrong)
        return 0;
    pairs_release(p);
    return error_set(err, "cannot read '%s': %s", path, wrong);
}

static const char *check_members(const struct pairs *p)
{
    if (p->start[0] != 0 || p->start[p->ngroups] != p->nsites)
        return "classes are not in order";
    for (uint32_t g = 0; g < p->ngroups; g++) {
        if (p->start[g] > p->start[g + 1] || p->start[g + 1] > p->nsites)
            return "classes are not in order";
        for (uint32_t i = p->start[g]; i < p->start[g + 1]; i++)
            if (p->members[i] >= p->nsites || p->sites[p->members[i]].group != g)
                return "no such site";
    }
    return NULL;
}

static const char *check_pairs(const struct pairs *p)
{
    for (size_t i = 0; i < p->npairs; i++) {
        struct pairs_groups g = p->pairs[i], last = p->pairs[i ? i - 1 : 0];

        if (g.b >= p->ngroups || g.a > g.b)
            return "no such pair of classes";
        if (i && (last.a > g.a || (last.a == g.a && last.b >= g.b)))
            return "pairs are not in order";
    }
    return pairs_count(p) == p->total ? NULL : "the number of pairs is wrong";
}

int pairs_check(const struct pairs *p, const char *path, struct error *err)
{
    const char *wrong = p->mapping ? check_members(p) : NULL;

    if (p->mapping && !wrong)
        wrong = check_pairs(p);
    return wrong ? error_set(err, "cannot read '%s': %s", path, wrong) : 0;
}
