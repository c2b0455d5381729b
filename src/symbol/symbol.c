/* symbol.c - the images of a process, by address
 *
 * Images that share a file (a library that was unloaded and loaded again)
 * share what was read of it; nothing is given back before the symbolizer is,
 * so that answers stay valid.
 */
#include "symbol/symbol.h"
#include "base/alloc.h"
#include "symbol/binary.h"

#include <stdlib.h>
#include <string.h>

struct mapping {
    uint64_t low, high, base;
    struct binary *binary;
};

struct symbolizer {
    struct mapping *mappings; /* by address, apart from each other */
    size_t count, cap;
    struct binary **binaries; /* owned */
    size_t nbinaries, binaries_cap;
};

struct symbolizer *symbolizer_new(void)
{
    return xcalloc(1, sizeof(struct symbolizer));
}

void symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nbinaries; i++)
        binary_free(s->binaries[i]);
    free(s->binaries);
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
    const struct answer *a = m ? binary_frames(m->binary, pc - m->base) : NULL;
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
    return m ? binary_data(m->binary, address - m->base, bytes, out) : 0;
}

int symbolizer_thread_local(struct symbolizer *s, uint64_t address, uint64_t offset, uint64_t bytes,
                            struct sym_data *out)
{
    const struct mapping *m = find_mapping(s, address);

    *out = (struct sym_data){ 0 };
    return m ? binary_thread_local(m->binary, offset, bytes, out) : 0;
}

bool symbolizer_tls_segment(struct symbolizer *s, uint64_t address, uint64_t *bytes,
                            uint64_t *align)
{
    const struct mapping *m = find_mapping(s, address);

    return m && binary_tls_segment(m->binary, bytes, align);
}

const char *symbolizer_image(const struct symbolizer *s, uint64_t address, uint64_t *offset)
{
    const struct mapping *m = find_mapping(s, address);

    if (m && offset)
        *offset = address - m->base;
    return m ? m->binary->path : NULL;
}

const char *symbolizer_problem(struct symbolizer *s, uint64_t address)
{
    const struct mapping *m = find_mapping(s, address);

    return m ? binary_problem(m->binary) : NULL;
}

static struct binary *get_binary(struct symbolizer *s, const char *path, const uint8_t *id,
                                 size_t id_bytes)
{
    for (size_t i = 0; i < s->nbinaries; i++) {
        struct binary *old = s->binaries[i];

        if (old->id_bytes == id_bytes && strcmp(old->path, path) == 0 &&
            (!id_bytes || memcmp(old->id, id, id_bytes) == 0))
            return old;
    }
    GROW(s->binaries, s->binaries_cap, s->nbinaries + 1);
    s->binaries[s->nbinaries] = binary_new(path, id, id_bytes);
    return s->binaries[s->nbinaries++];
}

int symbolizer_add_image(struct symbolizer *s, const char *path, uint64_t base, uint64_t low,
                         uint64_t high, const uint8_t *build_id, size_t build_id_bytes)
{
    size_t at = find_place(s, low);

    build_id_bytes = build_id_bytes < BINARY_ID_MAX ? build_id_bytes : BINARY_ID_MAX;
    if (low >= high || (at < s->count && s->mappings[at].low < high))
        return -1;
    GROW(s->mappings, s->cap, s->count + 1);
    memmove(&s->mappings[at + 1], &s->mappings[at], (s->count - at) * sizeof(*s->mappings));
    s->mappings[at] =
        (struct mapping){ low, high, base, get_binary(s, path, build_id, build_id_bytes) };
    s->count++;
    return 0;
}

void symbolizer_names_only(struct symbolizer *s, uint64_t low)
{
    size_t at = find_place(s, low);

    if (at < s->count && s->mappings[at].low == low)
        s->mappings[at].binary->names_only = true;
}

uint64_t symbolizer_overlap(const struct symbolizer *s, uint64_t low, uint64_t high)
{
    size_t at = find_place(s, low);

    return at < s->count && s->mappings[at].low < high ? s->mappings[at].low : UINT64_MAX;
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
