/* naming.c - names for what a recorded program's trace has only as addresses */
#include "report/naming.h"
#include "base/alloc.h"
#include "symbol/symbol.h"
#include "symbol/tidy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of images at the same place (a library unloaded, another loaded) the last one stays. */
static void add_image(struct symbolizer *s, const struct image *m)
{
    uint64_t old;

    if (!m->path || m->low >= m->high)
        return;
    while ((old = symbolizer_overlap(s, m->low, m->high)) != UINT64_MAX)
        symbolizer_remove_image(s, old);
    symbolizer_add_image(s, m->path, m->base, m->low, m->high, m->build_id, m->build_id_bytes);
}

/* What a thread's `pthread_t` points to. */
struct naming_pointer {
    uint64_t address;
    uint32_t thread;
};

static int compare_pointers(const void *a, const void *b)
{
    const struct naming_pointer *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void list_pointers(struct naming *n, const struct process *p)
{
    n->pointers = xcalloc(p->nthreads + 1, sizeof(*n->pointers));
    for (size_t i = 0; i < p->nthreads; i++)
        if (p->threads[i].pointer)
            n->pointers[n->npointers++] =
                (struct naming_pointer){ p->threads[i].pointer, p->threads[i].thread };
    qsort(n->pointers, n->npointers, sizeof(*n->pointers), compare_pointers);
    for (size_t i = 0; i < p->ntls; i++)
        n->reach = p->tls[i].offset > n->reach ? p->tls[i].offset : n->reach;
}

void naming_init(struct naming *n, struct findings *home, const struct tables *t)
{
    *n = (struct naming){ .home = home, .tables = t };
    if (t->nimages == 0)
        return;
    n->symbols = symbolizer_new();
    for (size_t i = 0; i < t->nimages; i++)
        add_image(n->symbols, &t->images[i]);
    list_pointers(n, &t->process);
}

void naming_release(struct naming *n)
{
    symbolizer_free(n->symbols);
    map_release(&n->functions);
    free(n->pointers);
    *n = (struct naming){ 0 };
}

const char *naming_function(struct naming *n, const char *linkage_name)
{
    struct buf b = { 0 };
    const char *name;
    uint32_t *known;

    if (!linkage_name || strncmp(linkage_name, "_Z", 2) != 0)
        return findings_string(n->home, linkage_name);
    known = map_put(&n->functions, (uintptr_t)linkage_name, INTERN_NONE);
    if (*known != INTERN_NONE)
        return intern_get(&n->home->strings, *known);
    sym_demangle(linkage_name, &b);
    name = findings_string(n->home, b.data);
    buf_release(&b);
    *known = intern_find(&n->home->strings, name, strlen(name));
    return name;
}

/* The library's own parts of a lock are not what the program calls it: "m.__data.__lock",
 * "m._M_mutex". */
static size_t lock_name_length(const char *path)
{
    const char *inner = path;

    while ((inner = strchr(inner, '.'))) {
        if (strncmp(inner, ".__", 3) == 0 || strncmp(inner, "._M_", 4) == 0)
            return (size_t)(inner - path);
        inner++;
    }
    return strlen(path);
}

static const char *take_text(struct naming *n, struct buf *b)
{
    const char *s;

    buf_add(b, "", 0);
    s = findings_string(n->home, b->data);
    buf_release(b);
    return s;
}

const char *naming_location(struct naming *n, const char *location)
{
    struct buf b = { 0 };

    if (!n->symbols || location[0] != '/' || tidy_is(location))
        return findings_string(n->home, location);
    tidy_path(&b, NULL, location);
    return take_text(n, &b);
}

const char *naming_object(struct naming *n, uint64_t target)
{
    struct buf b = { 0 };
    struct sym_data d;

    if (is_named(target) || !n->symbols) {
        tables_name_object(n->tables, target, &b);
    } else if (symbolizer_data(n->symbols, target, 1, &d)) {
        buf_add(&b, d.path, lock_name_length(d.path));
    } else {
        buf_addf(&b, "lock 0x%" PRIx64, target);
    }
    return take_text(n, &b);
}

/* And what stands for descriptors (runtime/interpose/fd_race.c), 8 bytes each. */
#define DESCRIPTORS "__heddle_descriptor"

/* What functions of the C library keep to themselves stands in variables of our runtime. */
static const char *hidden_state(const char *name)
{
    static const char ours[] = "__heddle_hidden_";

    return strncmp(name, ours, sizeof(ours) - 1) == 0 ? name + sizeof(ours) - 1 : NULL;
}

static void naming_add_path(struct buf *b, const struct sym_data *d)
{
    buf_addstr(b, d->path);
    if (d->path_offset)
        buf_addf(b, "+%" PRIu64, d->path_offset);
}

const char *naming_global(struct naming *n, uint64_t address, uint64_t bytes)
{
    struct sym_data d;
    struct buf b = { 0 };

    if (!n->symbols || !symbolizer_data(n->symbols, address, bytes, &d))
        return NULL;
    if (hidden_state(d.name)) {
        buf_addf(&b, "hidden state of the C library (%s)", hidden_state(d.name));
        return take_text(n, &b);
    }
    if (strcmp(d.name, DESCRIPTORS) == 0) {
        buf_addf(&b, "file descriptor %" PRIu64, d.offset / 8);
        return take_text(n, &b);
    }
    naming_add_path(&b, &d);
    return take_text(n, &b);
}

bool naming_is_descriptor(struct naming *n, uint64_t address)
{
    struct sym_data d;

    return n->symbols && symbolizer_data(n->symbols, address, 1, &d) &&
           strcmp(d.name, DESCRIPTORS) == 0;
}

/* The pointer of a thread whose storage an address may be in, with the number of threads that had
 * it, one after the other. */
static uint64_t pointer_above(const struct naming *n, uint64_t address, size_t *first,
                              size_t *count)
{
    size_t low = 0, high = n->npointers;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (n->pointers[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (high < n->npointers && n->pointers[high].address == n->pointers[low].address)
        high++;
    *count = high - low;
    return low < n->npointers ? n->pointers[low].address : 0;
}

/* What is `below` bytes below a thread's pointer. */
static const char *storage_variable(struct naming *n, uint64_t below, uint64_t bytes)
{
    const struct process *p = &n->tables->process;
    struct sym_data d;
    struct buf b = { 0 };

    for (size_t i = 0; i < p->ntls; i++) {
        const struct process_tls *t = &p->tls[i];

        if (below > t->offset || t->offset - below >= t->bytes || t->image >= n->tables->nimages ||
            !symbolizer_thread_local(n->symbols, n->tables->images[t->image].low, t->offset - below,
                                     bytes, &d))
            continue;
        naming_add_path(&b, &d);
        return take_text(n, &b);
    }
    return NULL;
}

static bool is_below_pointers(const struct process *p, size_t image)
{
    for (size_t i = 0; i < p->ntls; i++)
        if (p->tls[i].image == image)
            return true;
    return false;
}

/* How the C library allocates a segment: as it is, or with room to align it. */
static bool fits_segment(struct naming *n, uint64_t image, uint64_t start, uint64_t block,
                         uint64_t *segment)
{
    uint64_t bytes, align;

    if (!symbolizer_tls_segment(n->symbols, image, &bytes, &align))
        return false;
    *segment = align ? (start + align - 1) / align * align : start;
    return block == bytes || block == bytes + align;
}

bool naming_loaded_local(struct naming *n, uint64_t address, uint64_t bytes, uint64_t offset,
                         uint64_t block, const char **variable)
{
    const struct tables *t = n->tables;
    uint64_t segment = 0, at = 0, image = 0;
    size_t found = 0;
    struct sym_data d;
    struct buf b = { 0 };

    for (size_t i = 0; n->symbols && i < t->nimages; i++)
        if (!is_below_pointers(&t->process, i) && t->images[i].low != image &&
            fits_segment(n, t->images[i].low, address - offset, block, &segment)) {
            image = t->images[i].low;
            at = segment;
            found++;
        }
    *variable = NULL;
    if (found == 1 && address >= at &&
        symbolizer_thread_local(n->symbols, image, address - at, bytes, &d)) {
        naming_add_path(&b, &d);
        *variable = take_text(n, &b);
    }
    return found > 0;
}

bool naming_knows_storage(const struct naming *n, uint32_t thread)
{
    const struct process_thread *t = process_thread(&n->tables->process, thread);

    return n->reach && t && t->pointer;
}

bool naming_thread_local(struct naming *n, uint64_t address, uint64_t bytes, uint32_t thread,
                         struct naming_storage *out)
{
    const struct process_thread *t = process_thread(&n->tables->process, thread);
    uint64_t pointer = t ? t->pointer : 0;
    size_t first, count;

    if (!n->symbols || n->reach == 0)
        return false;
    if (thread == UINT32_MAX) {
        pointer = pointer_above(n, address, &first, &count);
        if (count == 1)
            thread = n->pointers[first].thread;
    }
    if (pointer <= address || pointer - address > n->reach)
        return false;
    *out = (struct naming_storage){ storage_variable(n, pointer - address, bytes), thread };
    return true;
}

/* The kernel puts the first stack on top of all mappings: in the last 16 GiB of the address
 * space, and above the dynamic loader, which comes first below it. */
bool naming_is_main_stack(const struct naming *n, uint64_t address)
{
    const uint64_t lowest = 0x7ffc00000000, end = 0x800000000000;

    if (!n->symbols || address < lowest || address >= end)
        return false;
    for (size_t i = 0; i < n->tables->nimages; i++) {
        const struct image *m = &n->tables->images[i];

        if (m->path && !strstr(m->path, "vdso") && m->high > address)
            return false;
    }
    return true;
}

bool location_is_system(const char *location)
{
    return strncmp(location, "/usr/include/", 13) == 0 || strncmp(location, "/usr/lib", 8) == 0 ||
           strstr(location, "/include/c++/") != NULL;
}
