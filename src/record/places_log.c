/* places_log.c - images and modules, as the process logs them
 *
 * The process logs its images, and behind each image the modules (translation
 * units compiled for tracing) in it: an identity and the number of its first
 * site. It may tell the same again.
 *
 * Images that were unloaded stay known until another one takes their
 * addresses: records made before may still be under way.
 */
#include "record/places_inside.h"
#include "base/alloc.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

/* The addresses of this image may have been another's. */
static void clear_addresses(struct places *p, const struct image *image)
{
    struct tables *t = places_tables(p);
    struct places_inside *in = p->inside;

    for (size_t i = 0; i < t->nimages; i++) {
        const struct image *other = &t->images[i];

        if (!in->images[i].current || other->low >= image->high || image->low >= other->high)
            continue;
        symbolizer_remove_image(in->symbolizer, other->low);
        in->images[i].current = false;
        map_clear(&in->pc_index);
        in->npcs = 0;
        __atomic_fetch_add(&p->generation, 1, __ATOMIC_RELEASE);
    }
}

static bool same_image(const struct image *a, const struct image *b)
{
    return a->low == b->low && a->high == b->high && !strcmp(a->path, b->path) &&
           a->build_id_bytes == b->build_id_bytes &&
           !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

/* Nobody looks for lines of libc; its debug information takes 0.3 s to unpack. */
static bool is_system_library(const char *path)
{
    return !strncmp(path, "/lib", 4) || !strncmp(path, "/usr/lib", 8);
}

static void add_image(struct places *p, struct image image)
{
    struct tables *t = places_tables(p);
    struct places_inside *in = p->inside;

    for (size_t i = 0; i < t->nimages; i++) {
        if (in->images[i].current && same_image(&t->images[i], &image)) {
            t->images[i].traced |= image.traced; /* told again, perhaps with its modules */
            in->last_image = (uint32_t)i;
            free(image.path);
            return;
        }
    }
    GROW(in->images, in->images_cap, t->nimages + 1);
    clear_addresses(p, &image);
    in->last_image = (uint32_t)t->nimages;
    in->images[t->nimages].current =
        symbolizer_add_image(in->symbolizer, image.path, image.base, image.low, image.high,
                             image.build_id_bytes ? image.build_id : NULL,
                             image.build_id_bytes) == 0;
    if (!image.traced && is_system_library(image.path))
        symbolizer_names_only(in->symbolizer, image.low);
    *tables_add_image(t) = image;
}

static void log_image(struct places *p, const char *payload, size_t bytes)
{
    struct log_image l;
    size_t path_bytes;

    if (bytes < sizeof(l))
        return;
    memcpy(&l, payload, sizeof(l));
    path_bytes = strnlen(payload + sizeof(l), bytes - sizeof(l));
    if (l.low >= l.high || l.build_id_bytes > sizeof(l.build_id) || !path_bytes)
        return;
    struct image image = { .path = xstrndup(payload + sizeof(l), path_bytes),
                           .build_id_bytes = l.build_id_bytes,
                           .traced = l.traced,
                           .base = l.base,
                           .low = l.low,
                           .high = l.high };
    memcpy(image.build_id, l.build_id, l.build_id_bytes);
    add_image(p, image);
}

static void log_tls(struct places *p, const char *payload, size_t bytes)
{
    struct tables *t = places_tables(p);
    struct log_tls l;

    if (bytes < sizeof(l) || !t->nimages)
        return;
    memcpy(&l, payload, sizeof(l));
    process_add_tls(&t->process, p->inside->last_image, l.offset, l.bytes);
}

/* The last module whose first site is at or below the number; how many there are of those. */
static size_t modules_up_to(const struct places_inside *in, uint32_t number)
{
    size_t low = 0, high = in->nmodules;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (in->modules[middle].log.base <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct module *places_module(const struct places_inside *in, uint32_t number)
{
    size_t n = modules_up_to(in, number);

    return n && number - in->modules[n - 1].log.base < in->modules[n - 1].log.sites
               ? &in->modules[n - 1]
               : NULL;
}

static void log_module(struct places *p, const char *payload, size_t bytes)
{
    struct places_inside *in = p->inside;
    struct tables *t = places_tables(p);
    struct log_module l;
    const struct module *old;
    size_t at;

    if (bytes < sizeof(l) || !t->nimages)
        return;
    memcpy(&l, payload, sizeof(l));
    if (!l.sites || l.sites > UINT32_MAX - l.base)
        return;
    old = places_module(in, l.base);
    if (old)
        return; /* told again */
    at = modules_up_to(in, l.base);
    GROW(in->modules, in->modules_cap, in->nmodules + 1);
    memmove(&in->modules[at + 1], &in->modules[at], (in->nmodules - at) * sizeof(*in->modules));
    in->modules[at] = (struct module){ .log = l, .image = in->last_image };
    in->nmodules++;
    t->images[in->last_image].modules++;
    t->images[in->last_image].sites += l.sites;
}

/* Arguments follow each other, each with a NUL. */
static void log_process(struct places *p, const char *payload, size_t bytes)
{
    struct process *process = &places_tables(p)->process;
    char *line = xmalloc(bytes + 1);
    size_t n = bytes;

    memcpy(line, payload, bytes);
    while (n && !line[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = ' ';
    line[n] = 0;
    free(process->command);
    process->command = line;
}

static void log_entry(struct places *p, uint32_t kind, const char *payload, size_t bytes)
{
    switch (kind) {
    case LOG_IMAGE:
        log_image(p, payload, bytes);
        break;
    case LOG_TLS:
        log_tls(p, payload, bytes);
        break;
    case LOG_MODULE:
        log_module(p, payload, bytes);
        break;
    case LOG_PROCESS:
        log_process(p, payload, bytes);
        break;
    case LOG_TEXT:
        sink_note(p->sink, "%.*s", (int)strnlen(payload, bytes), payload);
        break;
    }
}

void places_log_read(struct places *p)
{
    const char *payload;
    uint32_t kind;
    size_t bytes;

    while (ring_log_entry(p->ring, &p->inside->log_at, &kind, &payload, &bytes)) {
        char *copy = xmalloc(bytes + 1); /* the process cannot change this one */

        memcpy(copy, payload, bytes);
        copy[bytes] = 0;
        log_entry(p, kind, copy, bytes);
        free(copy);
    }
}
