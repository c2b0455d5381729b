/* pairs_file.c - statically possible pairs as a text file (docs/format/pairs.md)
 *
 * The file is checked once, here: what a reader hands out can be trusted. It ends with a line
 * "end", so that a file that was cut off is noticed.
 */
#include "static/pairs_file.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HEADER "heddle-pairs 1"
enum { COUNT_MAX = 1 << 27 };

void pairs_release(struct pairs *p)
{
    for (size_t i = 0; i < p->nimages; i++) {
        free(p->images[i].path);
        free(p->images[i].build_id);
    }
    free(p->images);
    if (p->mapping) {
        munmap(p->mapping, p->mapping_bytes);
    } else {
        free(p->sites);
        free(p->pairs);
        free(p->start);
        free(p->members);
    }
    *p = (struct pairs){ 0 };
}

/* ---- order and index ---- */

static int compare_ids(const uint64_t *am, uint32_t ai, const uint64_t *bm, uint32_t bi)
{
    for (int i = 0; i < 2; i++)
        if (am[i] != bm[i])
            return am[i] < bm[i] ? -1 : 1;
    return ai < bi ? -1 : ai > bi;
}

static int compare_sites(const void *a, const void *b)
{
    const struct pairs_site *x = a, *y = b;

    return compare_ids(x->id.module, x->id.index, y->id.module, y->id.index);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pairs_groups *x = a, *y = b;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

void pairs_list_members(struct pairs *p)
{
    p->start = xcalloc(p->ngroups + (size_t)2, sizeof(*p->start));
    p->members = xcalloc(p->nsites + 1, sizeof(*p->members));
    for (size_t i = 0; i < p->nsites; i++)
        p->start[p->sites[i].group + 2]++;
    for (uint32_t g = 2; g <= p->ngroups; g++)
        p->start[g] += p->start[g - 1];
    for (size_t i = 0; i < p->nsites; i++)
        p->members[p->start[p->sites[i].group + 1]++] = (uint32_t)i;
}

/* What the questions need, of sites and pairs that are in order. */
static void complete(struct pairs *p)
{
    free(p->start);
    free(p->members);
    pairs_list_members(p);
    p->total = pairs_count(p);
}

void pairs_index(struct pairs *p)
{
    for (size_t i = 0; i < p->npairs; i++)
        if (p->pairs[i].a > p->pairs[i].b)
            p->pairs[i] = (struct pairs_groups){ p->pairs[i].b, p->pairs[i].a };
    if (p->nsites)
        qsort(p->sites, p->nsites, sizeof(*p->sites), compare_sites);
    if (p->npairs)
        qsort(p->pairs, p->npairs, sizeof(*p->pairs), compare_pairs);
    complete(p);
}

/* ---- questions ---- */

size_t pairs_from(const struct pairs *p, const uint64_t module[2], uint32_t index)
{
    size_t low = 0, high = p->nsites;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct prod_site *s = &p->sites[middle].id;

        if (compare_ids(s->module, s->index, module, index) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t pairs_find(const struct pairs *p, const uint64_t module[2], uint32_t index)
{
    size_t low = pairs_from(p, module, index);

    if (low == p->nsites ||
        compare_ids(p->sites[low].id.module, p->sites[low].id.index, module, index) != 0)
        return PAIRS_NONE;
    return (uint32_t)low;
}

bool pairs_has(const struct pairs *p, uint32_t a, uint32_t b)
{
    uint32_t x = p->sites[a].group, y = p->sites[b].group;
    struct pairs_groups g = { x < y ? x : y, x < y ? y : x };

    return bsearch(&g, p->pairs, p->npairs, sizeof(g), compare_pairs) != NULL;
}

uint64_t pairs_count_marked(const struct pairs *p, const uint64_t *marked)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->npairs; i++) {
        uint64_t a = marked[p->pairs[i].a], b = marked[p->pairs[i].b];

        sum += p->pairs[i].a == p->pairs[i].b ? a * (a + 1) / 2 : a * b;
    }
    return sum;
}

uint64_t pairs_count(const struct pairs *p)
{
    uint64_t *members = xcalloc(p->ngroups + (size_t)1, sizeof(*members)), sum;

    for (uint32_t g = 0; g < p->ngroups; g++)
        members[g] = p->start[g + 1] - p->start[g];
    sum = pairs_count_marked(p, members);
    free(members);
    return sum;
}

void pairs_each(const struct pairs *p, bool (*fn)(void *arg, uint32_t i, uint32_t j), void *arg)
{
    for (size_t k = 0; k < p->npairs; k++) {
        struct pairs_groups g = p->pairs[k];

        for (uint32_t i = p->start[g.a]; i < p->start[g.a + 1]; i++)
            for (uint32_t j = g.a == g.b ? i : p->start[g.b]; j < p->start[g.b + 1]; j++) {
                uint32_t x = p->members[i], y = p->members[j];

                if (!fn(arg, x < y ? x : y, x < y ? y : x))
                    return;
            }
    }
}

/* ---- writing ---- */

static bool same_module(const struct prod_site *a, const struct prod_site *b)
{
    return a->module[0] == b->module[0] && a->module[1] == b->module[1];
}

void pairs_write(const struct pairs *p, FILE *out)
{
    fprintf(out, HEADER "\nvariant %s\n", p->lockset ? "lockset" : "sound");
    for (size_t i = 0; i < p->nimages; i++)
        fprintf(out, "image %s %s\n", *p->images[i].build_id ? p->images[i].build_id : "-",
                p->images[i].path);
    fprintf(out, "classes %" PRIu32 "\n", p->ngroups);
    for (size_t i = 0; i < p->nsites; i++) {
        const struct prod_site *s = &p->sites[i].id;

        if (i == 0 || !same_module(s, &p->sites[i - 1].id))
            fprintf(out, "module %016" PRIx64 "%016" PRIx64 "\n", s->module[0], s->module[1]);
        fprintf(out, "s %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", s->index, s->flags,
                p->sites[i].group);
    }
    for (size_t i = 0; i < p->npairs; i++)
        fprintf(out, "p %" PRIu32 " %" PRIu32 "\n", p->pairs[i].a, p->pairs[i].b);
    fprintf(out, "end\n");
}

/* ---- reading ---- */

struct reading {
    struct pairs *p;
    const char *shown;
    size_t line;
    uint64_t module[2];
    bool has_module, has_classes, ended;
};

static int wrong(struct reading *r, struct error *err, const char *what)
{
    return error_set(err, "cannot read '%s': line %zu: %s", r->shown, r->line, what);
}

static int read_image(struct reading *r, char *text, struct error *err)
{
    char *path = strchr(text, ' ');

    if (!path || path == text || !path[1])
        return wrong(r, err, "expected 'image BUILD-ID PATH'");
    *path++ = 0;
    GROW(r->p->images, r->p->images_cap, r->p->nimages + 1);
    r->p->images[r->p->nimages++] = (struct pairs_image){
        xstrndup(path, strlen(path)),
        strcmp(text, "-") == 0 ? xstrndup("", 0) : xstrndup(text, strlen(text)),
    };
    return 0;
}

static int read_module(struct reading *r, const char *text, struct error *err)
{
    char half[17] = "";

    if (strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return wrong(r, err, "expected a module's id of 32 hexadecimal digits");
    memcpy(half, text, 16);
    r->module[0] = strtoull(half, NULL, 16);
    r->module[1] = strtoull(text + 16, NULL, 16);
    r->has_module = true;
    return 0;
}

/* `n` numbers with a blank between, and nothing else. */
static bool numbers(const char *text, unsigned n, uint32_t *out)
{
    for (unsigned i = 0; i < n; i++, text++) {
        uint64_t v = 0;

        if (*text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9'; text++) {
            v = v * 10 + (uint64_t)(*text - '0');
            if (v > UINT32_MAX)
                return false;
        }
        if (*text != (i + 1 < n ? ' ' : 0))
            return false;
        out[i] = (uint32_t)v;
    }
    return true;
}

static int read_site(struct reading *r, const char *text, struct error *err)
{
    struct pairs_site s = { 0 };
    uint32_t n[3];

    if (!numbers(text, 3, n))
        return wrong(r, err, "expected 's INDEX KIND CLASS'");
    if (!r->has_module)
        return wrong(r, err, "a site before its module");
    if (n[2] >= r->p->ngroups)
        return wrong(r, err, "no such class");
    memcpy(s.id.module, r->module, sizeof(s.id.module));
    s.id.index = n[0];
    s.id.flags = n[1];
    s.group = n[2];
    if (r->p->nsites && compare_sites(&r->p->sites[r->p->nsites - 1], &s) >= 0)
        return wrong(r, err, "sites are not in order");
    GROW(r->p->sites, r->p->sites_cap, r->p->nsites + 1);
    r->p->sites[r->p->nsites++] = s;
    return 0;
}

static int read_pair(struct reading *r, const char *text, struct error *err)
{
    struct pairs *p = r->p;
    struct pairs_groups g;
    uint32_t n[2];

    if (!numbers(text, 2, n))
        return wrong(r, err, "expected 'p CLASS CLASS'");
    g = (struct pairs_groups){ n[0], n[1] };
    if (g.b >= p->ngroups || g.a > g.b)
        return wrong(r, err, "no such pair of classes");
    if (p->npairs && compare_pairs(&p->pairs[p->npairs - 1], &g) >= 0)
        return wrong(r, err, "pairs are not in order");
    GROW(p->pairs, p->pairs_cap, p->npairs + 1);
    p->pairs[p->npairs++] = g;
    return 0;
}

static int read_line(struct reading *r, char *line, struct error *err)
{
    uint32_t n;

    if (r->line == 1)
        return strcmp(line, HEADER) == 0 ? 0 : wrong(r, err, "not a file of pairs");
    if (r->ended)
        return wrong(r, err, "something behind the end");
    if (strncmp(line, "s ", 2) == 0)
        return read_site(r, line + 2, err);
    if (strncmp(line, "p ", 2) == 0)
        return read_pair(r, line + 2, err);
    if (strncmp(line, "module ", 7) == 0)
        return read_module(r, line + 7, err);
    if (strncmp(line, "image ", 6) == 0)
        return read_image(r, line + 6, err);
    if (strncmp(line, "classes ", 8) == 0 && numbers(line + 8, 1, &n) && n <= COUNT_MAX &&
        !r->has_classes) {
        r->has_classes = true;
        r->p->ngroups = n;
        return 0;
    }
    if (strcmp(line, "variant sound") == 0 || strcmp(line, "variant lockset") == 0) {
        r->p->lockset = line[8] == 'l';
        return 0;
    }
    if (strcmp(line, "end") != 0)
        return wrong(r, err, "unknown line");
    r->ended = true;
    return 0;
}

/* All of it: a big program has a million lines and more. */
static int pairs_file_read_all(FILE *in, struct buf *text, const char *shown, struct error *err)
{
    enum { PIECE = 1 << 20 };
    size_t n;

    do {
        buf_reserve(text, PIECE);
        n = fread(text->data + text->len, 1, PIECE, in);
        text->len += n;
    } while (n == PIECE);
    text->data[text->len] = 0;
    return ferror(in) ? error_set(err, "cannot read '%s': %s", shown, strerror(errno)) : 0;
}

static int read_lines(struct reading *r, struct buf *text, struct error *err)
{
    char *at = text->data, *end = at + text->len, *next;

    for (; at < end; at = next) {
        next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next : end;
        *next++ = 0;
        r->line++;
        if (read_line(r, at, err) < 0)
            return -1;
    }
    if (r->line == 0)
        return error_set(err, "cannot read '%s': empty", r->shown);
    if (!r->ended || !r->p->nimages)
        return error_set(err, "cannot read '%s': cut off behind line %zu", r->shown, r->line);
    return 0;
}

int pairs_read_stream(struct pairs *p, FILE *in, const char *shown, struct error *err)
{
    struct reading r = { .p = p, .shown = shown };
    struct buf text = { 0 };
    int status;

    *p = (struct pairs){ 0 };
    status = pairs_file_read_all(in, &text, shown, err);
    if (status == 0)
        status = read_lines(&r, &text, err);
    buf_release(&text);
    if (status == 0)
        complete(p);
    else
        pairs_release(p);
    return status;
}

int pairs_read(struct pairs *p, const char *path, struct error *err)
{
    FILE *in = fopen(path, "re");
    int status;

    char magic[8] = "";

    *p = (struct pairs){ 0 };
    if (!in)
        return error_set(err, "cannot open '%s': %s", path, strerror(errno));
    if (fread(magic, 1, sizeof(magic), in) == sizeof(magic) &&
        memcmp(magic, PAIRS_MAP_MAGIC, sizeof(magic)) == 0) {
        fclose(in);
        status = pairs_map(p, path, err);
        if (status == 0 && pairs_check(p, path, err) < 0)
            pairs_release(p);
        return status == 0 && !p->mapping ? -1 : status;
    }
    rewind(in);
    status = pairs_read_stream(p, in, path, err);
    fclose(in);
    return status;
}
