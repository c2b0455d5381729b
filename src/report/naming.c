/* naming.c - names for what a recorded program's trace has only as addresses */
#include "report/naming.h"
#include "symbol/symbol.h"
#include "symbol/tidy.h"

#include <inttypes.h>
#include <stdio.h>
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

void naming_init(struct naming *n, struct findings *home, const struct tables *t)
{
    *n = (struct naming){ .home = home, .tables = t };
    if (t->nimages == 0)
        return;
    n->symbols = symbolizer_new();
    for (size_t i = 0; i < t->nimages; i++)
        add_image(n->symbols, &t->images[i]);
}

void naming_release(struct naming *n)
{
    symbolizer_free(n->symbols);
    map_release(&n->functions);
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

/* What functions of the C library keep to themselves stands in variables of our runtime. */
static const char *hidden_state(const char *name)
{
    static const char ours[] = "__heddle_hidden_";

    return strncmp(name, ours, sizeof(ours) - 1) == 0 ? name + sizeof(ours) - 1 : NULL;
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
    buf_addstr(&b, d.path);
    if (d.path_offset)
        buf_addf(&b, "+%" PRIu64, d.path_offset);
    return take_text(n, &b);
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
