/* symbol.c - the images of a process, by address
 *
 * Images that share a file (a library that was unloaded and loaded again)
 * share what was read of it; nothing is given back before the symbolizer is,
 * so that answers stay valid.
 */
#include "symbol/symbol.h"
#include "base/alloc.h"
#include "symbol/image.h"

#include <stdlib.h>
#include <string.h>

struct mapping {
    uint64_t low, high, base;
    struct image *image;
};

struct symbolizer {
    struct mapping *mappings; /* by address, apart from each other */
    size_t count, cap;
    struct image **images; /* owned */
    size_t nimages, images_cap;
};

struct symbolizer *symbolizer_new(void)
{
    return xcalloc(1, sizeof(struct symbolizer));
}

void symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nimages; i++)
        image_free(s->images[i]);
    free(s->images);
    free(s->mappings);
    free(s);
}

/* The first mapping that ends behind an address. */
static size_t find_place(const struct symbolizer *s, uint64_t address)
{
    size_t low = 0, high = s->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->mappings[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct mapping *find_mapping(const struct symbolizer *s, uint64_t address)
{
    size_t at = find_place(s, address);

    return at < s->count && s->mappings[at].low <= address ? &s->mappings[at] : NULL;
}

int symbolizer_frames(struct symbolizer *s, uint64_t pc, struct sym_frame *out, int max)
{
    const struct mapping *m = find_mapping(s, pc);
    const struct answer *a = m ? image_frames(m->image, pc - m->base) : NULL;
    int n = a ? a->count : 0;

    n = n < max ? n : max;
    if (n > 0)
        memcpy(out, a->frames, (size_t)n * sizeof(*out));
    return n;
}

int symbolizer_data(struct symbolizer *s, uint64_t address, uint64_t bytes, struct sym_data *out)
{
    const struct mapping *m = find_mapping(s, address);

    *out = (struct sym_data){ 0 };
    return m ? image_data(m->image, address - m->base, bytes, out) : 0;
}

const char *symbolizer_image(const struct symbolizer *s, uint64_t address, uint64_t *offset)
{
    const struct mapping *m = find_mapping(s, address);

    if (m && offset)
        *offset = address - m->base;
    return m ? m->image->path : NULL;
}

const char *symbolizer_problem(struct symbolizer *s, uint64_t address)
{
    const struct mapping *m = find_mapping(s, address);

    return m ? image_problem(m->image) : NULL;
}

static struct image *get_image(struct symbolizer *s, const char *path, const uint8_t *id,
                               size_t id_bytes)
{
    for (size_t i = 0; i < s->nimages; i++) {
        struct image *old = s->images[i];

        if (old->id_bytes == id_bytes && strcmp(old->path, path) == 0 &&
            (!id_bytes || memcmp(old->id, id, id_bytes) == 0))
            return old;
    }
    GROW(s->images, s->images_cap, s->nimages + 1);
    s->images[s->nimages] = image_new(path, id, id_bytes);
    return s->images[s->nimages++];
}

int symbolizer_add_image(struct symbolizer *s, const char *path, uint64_t base, uint64_t low,
                         uint64_t high, const uint8_t *build_id, size_t build_id_bytes)
{
    size_t at = find_place(s, low);

    build_id_bytes = build_id_bytes < IMAGE_ID_MAX ? build_id_bytes : IMAGE_ID_MAX;
    if (low >= high || (at < s->count && s->mappings[at].low < high))
        return -1;
    GROW(s->mappings, s->cap, s->count + 1);
    memmove(&s->mappings[at + 1], &s->mappings[at], (s->count - at) * sizeof(*s->mappings));
    s->mappings[at] =
        (struct mapping){ low, high, base, get_image(s, path, build_id, build_id_bytes) };
    s->count++;
    return 0;
}

int symbolizer_remove_image(struct symbolizer *s, uint64_t low)
{
    size_t at = find_place(s, low);

    if (at == s->count || s->mappings[at].low != low)
        return -1;
    memmove(&s->mappings[at], &s->mappings[at + 1], (s->count - at - 1) * sizeof(*s->mappings));
    s->count--;
    return 0;
}
