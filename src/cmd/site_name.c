/* site_name.c - sites as users type and see them */
#include "cmd/site_name.h"
#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void site_list_release(struct site_list *s)
{
    free(s->at);
    *s = (struct site_list){ 0 };
}

bool site_is_access(uint32_t kind)
{
    return kind == SITE_READ || kind == SITE_WRITE || kind == SITE_ATOMIC || kind == SITE_LIBC;
}

static void add_in_site_name(struct site_list *out, const struct sites_header *h, uint32_t i)
{
    struct prod_site s = { .index = i, .flags = sites_site(h, i)->kind };

    memcpy(s.module, h->id, sizeof(s.module));
    GROW(out->at, out->cap, out->count + 1);
    out->at[out->count++] = s;
}

/* ---- MMMMMMMM:N ---- */

enum { ID_DIGITS = 32, ID_DIGITS_LEAST = 8 };

bool site_id_starts(const uint64_t module[2], const char *text, size_t n)
{
    char id[ID_DIGITS + 1];

    snprintf(id, sizeof(id), "%016" PRIx64 "%016" PRIx64, module[0], module[1]);
    return strncmp(id, text, n) == 0;
}

bool site_id_split(const char *text, size_t *digits, uint64_t *index)
{
    char *end;

    *digits = strspn(text, "0123456789abcdef");
    if (*digits < ID_DIGITS_LEAST || *digits > ID_DIGITS || text[*digits] != ':' ||
        text[*digits + 1] < '0' || text[*digits + 1] > '9')
        return false;
    *index = strtoull(text + *digits + 1, &end, 10);
    return *end == 0;
}

static int parse_id(const struct linked *l, const char *text, size_t digits, uint64_t index,
                    struct site_list *out, struct error *err)
{
    const struct sites_header *found = NULL;

    for (size_t f = 0; f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++) {
            const struct sites_header *h = site_tables_get(l->files[f].tables, i);

            if (!site_id_starts(h->id, text, digits) ||
                (found && memcmp(found->id, h->id, sizeof(h->id)) == 0))
                continue;
            if (found)
                return error_set(err, "site '%s': several modules begin like that", text);
            found = h;
        }
    if (!found)
        return error_set(err, "site '%s': no such module in the program", text);
    if (index >= found->nsites || !site_is_access(sites_site(found, (uint32_t)index)->kind))
        return error_set(err, "site '%s': no such access in '%s'", text,
                         sites_string(found, found->source));
    add_in_site_name(out, found, (uint32_t)index);
    return 0;
}

/* ---- FILE:LINE[:COLUMN] ---- */

struct where {
    char *file; /* owned */
    uint32_t line, column;
};

/* Takes ":NUMBER" from the end. */
static bool take_number(char *text, uint32_t *number)
{
    char *colon = strrchr(text, ':'), *end;
    unsigned long v;

    if (!colon || colon[1] < '0' || colon[1] > '9')
        return false;
    v = strtoul(colon + 1, &end, 10);
    if (*end || v > UINT32_MAX)
        return false;
    *colon = 0;
    *number = (uint32_t)v;
    return true;
}

static bool parse_where(const char *text, struct where *w)
{
    uint32_t number;

    *w = (struct where){ .file = xstrndup(text, strlen(text)) };
    if (!take_number(w->file, &w->line) || !*w->file)
        return false;
    if (take_number(w->file, &number)) {
        w->column = w->line;
        w->line = number;
    }
    return *w->file != 0;
}

static bool is_file(const char *path, const char *wanted)
{
    size_t n = strlen(path), m = strlen(wanted);

    if (n < m || strcmp(path + n - m, wanted) != 0)
        return false;
    return n == m || path[n - m - 1] == '/' || wanted[0] == '/';
}

/* Names of files repeat from site to site: the last answer is kept. */
static void search_table(const struct sites_header *h, const struct where *w, struct site_list *out)
{
    uint32_t last = UINT32_MAX;
    bool good = false;

    for (uint32_t i = 0; i < h->nsites; i++) {
        const struct sites_site *s = sites_site(h, i);
        struct buf path = { 0 };

        if (!site_is_access(s->kind) || s->line != w->line || (w->column && s->column != w->column))
            continue;
        if (s->file != last) {
            sites_file(h, s->file, &path);
            good = is_file(sites_string(h, s->file), w->file) ||
                   (path.data && is_file(path.data, w->file));
            buf_release(&path);
        }
        last = s->file;
        if (good)
            add_in_site_name(out, h, i);
    }
}

static int parse_place(const struct linked *l, const char *text, struct site_list *out,
                       struct error *err)
{
    struct where w;
    size_t before = out->count;
    bool good = parse_where(text, &w);

    for (size_t f = 0; good && f < l->count; f++)
        for (size_t i = 0; i < site_tables_count(l->files[f].tables); i++)
            search_table(site_tables_get(l->files[f].tables, i), &w, out);
    free(w.file);
    if (!good)
        return error_set(err, "site '%s': expected MODULE:NUMBER or FILE:LINE[:COLUMN]", text);
    if (out->count == before)
        return error_set(err, "site '%s': no access there", text);
    return 0;
}

int site_name_parse(const struct linked *l, const char *text, struct site_list *out,
                    struct error *err)
{
    size_t digits;
    uint64_t index;

    if (site_id_split(text, &digits, &index))
        return parse_id(l, text, digits, index, out, err);
    return parse_place(l, text, out, err);
}

/* Where the first name of "NAME+NAME" ends: a plus behind a number, since files may have one. */
static size_t first_name(const char *text)
{
    for (size_t i = 1; text[i]; i++)
        if (text[i] == '+') {
            size_t n = i;

            while (n && text[n - 1] >= '0' && text[n - 1] <= '9')
                n--;
            if (n && n < i && text[n - 1] == ':')
                return i;
        }
    return strlen(text);
}

static int parse_side(const struct linked *l, const char *text, struct site_list *out,
                      struct error *err)
{
    int status = 0;

    while (status == 0 && text) {
        size_t n = first_name(text);
        char *name = xstrndup(text, n);

        status = site_name_parse(l, name, out, err);
        free(name);
        text = text[n] ? text + n + 1 : NULL;
    }
    return status;
}

int site_pair_parse(const struct linked *l, const char *text, struct site_list out[2],
                    struct error *err)
{
    const char *comma = strchr(text, ',');
    char *first;
    int status;

    if (!comma || strchr(comma + 1, ','))
        return error_set(err, "pair '%s': expected two sites, separated by a comma", text);
    first = xstrndup(text, (size_t)(comma - text));
    status = parse_side(l, first, &out[0], err);
    free(first);
    return status ? status : parse_side(l, comma + 1, &out[1], err);
}

/* ---- printing ---- */

void site_name_add(struct buf *out, const struct prod_site *s)
{
    buf_addf(out, "%08" PRIx32 ":%" PRIu32, (uint32_t)(s->module[0] >> 32), s->index);
}

const char *site_kind_word(uint32_t kind)
{
    static const char *const words[] = { "?",      "read", "write", "atomic", "entry",
                                         "branch", "call", "libc",  "stretch" };

    return kind < sizeof(words) / sizeof(*words) ? words[kind] : words[0];
}

void site_phrase_add(struct buf *out, const struct linked *l, const struct prod_site *s)
{
    const struct sites_header *h = linked_find(l, s->module, NULL);
    const struct sites_site *t;

    if (!h || s->index >= h->nsites) {
        buf_addstr(out, "site ");
        site_name_add(out, s);
        return;
    }
    t = sites_site(h, s->index);
    buf_addstr(out, site_kind_word(t->kind));
    if (t->variable)
        buf_addf(out, " of %s", sites_string(h, t->variable));
    if (t->function)
        buf_addf(out, " in %s", sites_string(h, t->function));
    if (t->line) {
        buf_addf(out, " at %s", sites_string(h, t->file));
        buf_add_line(out, t->line, t->column);
    }
}
