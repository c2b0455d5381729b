/* caper_table.c - the control file of caper and alias runs */
#include "cmd/production/caper_table.h"
#include "base/alloc.h"
#include "cmd/common.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the table ---- */

static size_t module_bytes(uint32_t sites, uint32_t flags)
{
    return (sites + (flags & CAPER_COUNT ? 8 * (size_t)sites : 0) + 15) & ~(size_t)7;
}

static size_t count_modules(const struct linked *l)
{
    size_t n = 0;

    for (size_t f = 0; f < l->count; f++)
        n += site_tables_count(l->files[f].tables);
    return n;
}

size_t caper_table_bytes(const struct linked *l, uint32_t flags, bool pairs)
{
    size_t bytes = sizeof(struct caper_table) + TABLE_NEW_BYTES +
                   (count_modules(l) + TABLE_NEW_MODULES) * sizeof(struct caper_module);

    for (size_t f = 0; f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++)
            bytes += module_bytes(site_tables_get(l->files[f].tables, i)->nsites, flags);
    return bytes + (pairs ? 8 * (size_t)TABLE_PAIRS : 0);
}

static bool has_module(const struct caper_table *t, const uint64_t id[2])
{
    for (uint32_t i = 0; i < t->modules; i++)
        if (t->module[i].id[0] == id[0] && t->module[i].id[1] == id[1])
            return true;
    return false;
}

static void add_module(struct caper_table *t, const struct sites_header *h,
                       uint8_t (*wanted)(const uint64_t id[2], uint32_t index, void *arg),
                       void *arg)
{
    size_t counts = t->flags & CAPER_COUNT ? 8 * (size_t)h->nsites : 0;
    struct caper_module *m = &t->module[t->modules++];
    uint8_t *bytes;

    *m = (struct caper_module){
        { h->id[0], h->id[1] }, t->used + counts, counts ? t->used : 0, h->nsites, 1
    };
    bytes = (uint8_t *)t + m->at;
    for (uint32_t i = 0; i < h->nsites; i++) {
        bytes[i] = wanted(m->id, i, arg);
        t->flags |= bytes[i] & CAPER_HIDDEN ? CAPER_HAS_HIDDEN : 0;
    }
    t->used += module_bytes(h->nsites, t->flags);
}

void caper_table_fill(struct caper_table *t, size_t bytes, const struct linked *l, uint32_t flags,
                      bool pairs,
                      uint8_t (*wanted)(const uint64_t id[2], uint32_t index, void *arg), void *arg)
{
    memcpy(t->magic, CAPER_MAGIC, sizeof(t->magic));
    t->bytes = bytes;
    t->flags = flags;
    t->modules_max = (uint32_t)count_modules(l) + TABLE_NEW_MODULES;
    t->used = sizeof(*t) + t->modules_max * sizeof(struct caper_module);
    if (pairs) {
        t->pairs = t->used;
        t->pairs_room = TABLE_PAIRS;
        t->used += 8 * (size_t)TABLE_PAIRS;
    }
    for (size_t f = 0; f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++) {
            const struct sites_header *h = site_tables_get(l->files[f].tables, i);

            if (!has_module(t, h->id))
                add_module(t, h, wanted, arg);
        }
}

bool caper_table_check(const struct caper_table *t, size_t bytes)
{
    if (bytes < sizeof(*t) || memcmp(t->magic, CAPER_MAGIC, sizeof(t->magic)) != 0 ||
        t->bytes > bytes || t->modules > t->modules_max ||
        t->modules_max > (t->bytes - sizeof(*t)) / sizeof(struct caper_module))
        return false;
    for (uint32_t i = 0; i < t->modules; i++)
        if (t->module[i].at > t->bytes || t->module[i].sites > t->bytes - t->module[i].at)
            return false;
    return true;
}

/* ---- merging ---- */

struct merge {
    const struct caper_table *table;
    const struct linked *linked; /* NULL: not known */
    uint64_t fresh;
};

static const char *source_of(const struct linked *l, const uint64_t id[2])
{
    size_t file;
    const struct sites_header *h = l ? linked_find(l, id, &file) : NULL;

    return h ? sites_string(h, h->source) : NULL;
}

static bool merge_module(struct caper_state *s, const struct caper_module *m, struct merge *g)
{
    const uint8_t *bytes = (const uint8_t *)g->table + m->at;
    bool changed = false;
    struct caper_part *part = NULL;

    for (uint32_t i = 0; i < m->sites; i++) {
        uint8_t mark = bytes[i] & CAPER_KEPT;

        if (!mark)
            continue;
        if (!part)
            part = caper_state_module(s, m->id, m->sites, source_of(g->linked, m->id));
        if (i >= part->sites || !(mark & ~part->marks[i]))
            continue;
        g->fresh += !part->marks[i];
        part->marks[i] |= mark;
        changed = true;
    }
    return changed;
}

/* A run that saw nothing new only counts. */
static enum caper_change merge_into(struct caper_state *s, void *arg)
{
    struct merge *g = arg;
    bool changed = false;

    g->fresh = 0;
    for (uint32_t i = 0; i < g->table->modules; i++)
        if (__atomic_load_n(&g->table->module[i].ready, __ATOMIC_ACQUIRE))
            changed |= merge_module(s, &g->table->module[i], g);
    s->runs += g->linked != NULL;
    return changed ? CAPER_CHANGED : g->linked ? CAPER_COUNTED : CAPER_SAME;
}

int caper_control_merge(const struct production *p, const char *state, const struct linked *l,
                        int patience_ms, struct caper_state *after, uint64_t *fresh)
{
    struct merge g = { table_of(p), l, 0 };
    struct error err;
    int status = caper_state_change(state, merge_into, &g, patience_ms, after, &err);

    if (status == CAPER_LOCKED)
        return status;
    if (status < 0)
        return own_failure("%s", err.text);
    *fresh = g.fresh;
    return 0;
}

/* ---- what others left behind ---- */

void caper_control_close(struct production *p)
{
    if (p->control && p->control->counter[CAPER_PROCESSES] > 1 && production_is_mapped(p->path))
        p->made = false; /* they go on: the next command takes what they see */
    production_close(p);
}

/* One file; 1: its sites are in the state, 0: they are not, CAPER_LOCKED. */
static int caper_table_collect(const char *state, const char *path)
{
    struct production p;
    uint64_t fresh;
    int status = -1;

    if (!production_adopt(&p, path))
        return 0;
    p.made = !production_is_mapped(path);
    if (p.control && caper_table_check(table_of(&p), p.bytes - sizeof(struct prod_control))) {
        status = caper_control_merge(&p, state, NULL, CAPER_START_MS, NULL, &fresh);
        p.made = p.made && status == 0;
    }
    production_close(&p);
    return status == CAPER_LOCKED ? status : status == 0;
}

int caper_control_collect(const char *state, unsigned *merged)
{
    const char *slash = strrchr(state, '/'), *base = slash ? slash + 1 : state;
    char *folder = slash == state ? xstrndup("/", 1)
                   : slash        ? xstrndup(state, (size_t)(slash - state))
                                  : getcwd(NULL, 0);
    DIR *d = folder ? opendir(folder) : NULL;
    struct dirent *e;
    size_t n = strlen(base);
    int status = 0;

    *merged = 0;
    while (d && status >= 0 && (e = readdir(d)))
        if (strncmp(e->d_name, base, n) == 0 &&
            strncmp(e->d_name + n, CONTROL_RUN, strlen(CONTROL_RUN)) == 0) {
            char *path = xasprintf("%s/%s", folder, e->d_name);

            status = caper_table_collect(state, path);
            *merged += status > 0;
            free(path);
        }
    if (d)
        closedir(d);
    free(folder);
    return status < 0 ? status : 0;
}
