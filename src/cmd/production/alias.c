/* alias.c - heddle alias: pairs of sites by which two threads touched the same memory
 *
 * The comparison for caper in its paper: precise for one run, and slow. The runtime's half is
 * runtime/production/alias_mode.c. The pairs are printed when the program has ended.
 */
#include "cmd/production/caper_show.h"
#include "base/plural.h"
#include "cmd/production/caper_table.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "report/json_emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint8_t wanted_byte(const uint64_t id[2], uint32_t index, void *arg)
{
    (void)id;
    (void)index;
    (void)arg;
    return CAPER_WANTED;
}

/* ---- what was found ---- */

static struct prod_site site_of(const struct caper_table *t, uint64_t key)
{
    uint64_t module = key >> CAPER_SITE_BITS & ((1u << CAPER_MODULE_BITS) - 1);
    struct prod_site s = { .index = (uint32_t)key & ((1u << CAPER_SITE_BITS) - 1) };

    if (module < t->modules)
        memcpy(s.module, t->module[module].id, sizeof(s.module));
    return s;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Moves the pairs to the front of their table, sorted; how many. */
static size_t gather(struct caper_table *t, uint64_t **out)
{
    uint64_t *pairs = (uint64_t *)(void *)((char *)t + t->pairs);
    size_t n = 0;

    for (uint64_t i = 0; i < t->pairs_room; i++)
        if (pairs[i])
            pairs[n++] = pairs[i];
    qsort(pairs, n, sizeof(*pairs), by_key);
    *out = pairs;
    return n;
}

/* Sites that are in some pair, and how often they were executed. */
static void count_share(const struct caper_table *t, const uint64_t *pairs, size_t n, uint64_t *all,
                        uint64_t *covered)
{
    *all = *covered = 0;
    for (uint32_t i = 0; i < t->modules; i++) {
        const uint64_t *counts =
            (const uint64_t *)(const void *)((const char *)t + t->module[i].counts);
        uint8_t *in_pair = calloc(t->module[i].sites + 1, 1);

        for (size_t k = 0; in_pair && k < 2 * n; k++) {
            uint64_t key = k & 1 ? pairs[k / 2] & UINT32_MAX : pairs[k / 2] >> 32;

            if ((key >> CAPER_SITE_BITS & ((1u << CAPER_MODULE_BITS) - 1)) == i)
                in_pair[key & ((1u << CAPER_SITE_BITS) - 1)] = 1;
        }
        for (uint32_t k = 0; in_pair && t->module[i].counts && k < t->module[i].sites; k++) {
            *all += counts[k];
            *covered += in_pair[k] ? counts[k] : 0;
        }
        free(in_pair);
    }
}

static void print(const struct options *o, struct production *p, const struct linked *l, FILE *out)
{
    bool json = strcmp(o->texts[OPT_FORMAT], "json") == 0;
    struct emitter e = { .out = out };
    uint64_t *pairs, all, covered;
    size_t n = gather(table_of(p), &pairs);

    count_share(table_of(p), pairs, n, &all, &covered);
    if (json) {
        emit_open(&e, NULL, '{', false);
        emit_number(&e, "schema", 1);
        emit_number(&e, "count", n);
        emit_number(&e, "dropped", p->control->counter[CAPER_ALIAS_EVICT]);
        emit_number(&e, "lost", p->control->counter[CAPER_ALIAS_FULL]);
        emit_open(&e, "accesses", '{', true);
        emit_number(&e, "all", all);
        emit_number(&e, "alias", covered);
        emit_close(&e);
        emit_open(&e, "pairs", '[', false);
    } else {
        fprintf(out, "%zu pair%s of sites touched the same memory in two threads\n", n, plural(n));
    }
    for (size_t i = 0; i < n; i++) {
        struct prod_site pair[2] = { site_of(table_of(p), pairs[i] >> 32),
                                     site_of(table_of(p), pairs[i] & UINT32_MAX) };

        if (json)
            caper_pair_json(l, pair, &e);
        else
            caper_pair_text(l, pair, out);
    }
    if (json) {
        emit_close(&e);
        emit_close(&e);
        fputc('\n', out);
    }
}

static int alias_watch(const struct options *o, struct production *p, const struct linked *l)
{
    uint32_t flags = option_is(o, OPT_COUNT_ALL) ? CAPER_COUNT : 0;
    size_t bytes = caper_table_bytes(l, flags, true);
    struct outfile out;
    int code = production_open(p, PROD_ALIAS, bytes);

    if (code)
        return code;
    caper_table_fill(table_of(p), bytes, l, flags, true, wanted_byte, NULL);
    code = production_run(p, o->arguments, NULL, NULL);
    if (code)
        return code;
    if (!production_says(p, o->arguments[0]))
        return p->code ? p->code : EXIT_BAD_INPUT;
    if (p->control->counter[CAPER_ALIAS_EVICT])
        warn("note", "%" PRIu64 " access%s found no room in the tables: pairs may be missing",
             p->control->counter[CAPER_ALIAS_EVICT],
             p->control->counter[CAPER_ALIAS_EVICT] == 1 ? "" : "es");
    if (p->control->counter[CAPER_ALIAS_FULL])
        warn("", "%" PRIu64 " pair%s found no room: the list is not complete",
             p->control->counter[CAPER_ALIAS_FULL], plural(p->control->counter[CAPER_ALIAS_FULL]));
    code = outfile_open(&out, o->texts[OPT_OUTPUT], stderr);
    if (code)
        return code;
    print(o, p, l, out.file);
    code = outfile_close(&out, true);
    return code ? code : p->code;
}

int cmd_alias(const struct options *o)
{
    struct production p = { .fd = -1 };
    struct linked l = { 0 };
    char *program = program_find(o->arguments[0]);
    struct error err;
    int code;

    if (!program) {
        bad_input("cannot find '%s'", o->arguments[0]);
        return EXIT_NOT_FOUND;
    }
    code = linked_open(&l, program, true, &err) < 0 ? bad_input("%s", err.text)
                                                    : alias_watch(o, &p, &l);
    production_close(&p);
    linked_release(&l);
    free(program);
    return code;
}
