/* fuzz_sites.c - libFuzzer target for the site tables of object files
 *
 * Everything that a table promises is looked at: each string, each chain of
 * inlined frames to its end, the last byte of the bitcode.
 */
#include "symbol/site_tables.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t sum;

static void look_at_string(const struct sites_header *h, uint32_t offset)
{
    if (offset + strlen(sites_string(h, offset)) >= h->string_bytes)
        abort();
}

static void look_at_chain(const struct sites_header *h, uint32_t at)
{
    uint32_t steps = 0;

    for (; at; at = sites_frame(h, at - 1)->inlined_at) {
        look_at_string(h, sites_frame(h, at - 1)->file);
        look_at_string(h, sites_frame(h, at - 1)->function);
        if (steps++ > h->nframes)
            abort();
    }
}

static void look_at_table(const struct sites_header *h)
{
    size_t bytes;
    const unsigned char *code = sites_bitcode(h, &bytes);

    look_at_string(h, h->source);
    look_at_string(h, h->directory);
    for (uint32_t i = 0; i < h->nsites; i++) {
        const struct sites_site *s = sites_site(h, i);

        look_at_string(h, s->file);
        look_at_string(h, s->function);
        look_at_string(h, s->variable);
        look_at_chain(h, s->inlined_at);
    }
    if (code && bytes)
        sum += code[0] + code[bytes - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct site_tables *t = site_tables_parse(data, len);

    for (size_t i = 0; i < site_tables_count(t); i++) {
        const struct sites_header *h = site_tables_get(t, i);

        look_at_table(h);
        if (!site_tables_find(t, h->id))
            abort();
    }
    site_tables_close(t);
    return 0;
}
