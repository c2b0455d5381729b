/* linked.c - the instrumented files of a program, found as the dynamic linker would */
#include "symbol/linked.h"
#include "base/alloc.h"
#include "symbol/elf_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the cache of the dynamic linker usually leads; other folders come by RUNPATH. */
static const char *const usual[] = { "/usr/local/lib",
                                     "/lib/x86_64-linux-gnu",
                                     "/usr/lib/x86_64-linux-gnu",
                                     "/lib64",
                                     "/usr/lib64",
                                     "/lib",
                                     "/usr/lib" };

struct needs {
    char **names; /* owned */
    size_t count, cap;
    char *rpath, *runpath; /* owned, or NULL */
};

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
}

void linked_release(struct linked *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->files[i].path);
        free(l->files[i].build_id);
        site_tables_close(l->files[i].tables);
    }
    free(l->files);
    free_texts(l->seen, l->nseen);
    free_texts(l->plain, l->nplain);
    free_texts(l->missing, l->nmissing);
    *l = (struct linked){ 0 };
}

/* ---- what a file says ---- */

static char *build_id(Elf *elf)
{
    const void *bytes;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);
    char *text = xcalloc(n > 0 ? 2 * (size_t)n + 1 : 1, 1);

    for (ssize_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
    return text;
}

static void note_need(struct needs *needs, Elf *elf, size_t strings, const GElf_Dyn *d)
{
    const char *s;
    char **path;

    if (d->d_tag != DT_NEEDED && d->d_tag != DT_RPATH && d->d_tag != DT_RUNPATH)
        return;
    s = elf_strptr(elf, strings, d->d_un.d_val);
    if (!s)
        return;
    if (d->d_tag == DT_NEEDED) {
        GROW(needs->names, needs->cap, needs->count + 1);
        needs->names[needs->count++] = xstrndup(s, strlen(s));
        return;
    }
    path = d->d_tag == DT_RPATH ? &needs->rpath : &needs->runpath;
    free(*path);
    *path = xstrndup(s, strlen(s));
}

static void list_needs(struct needs *needs, Elf *elf)
{
    Elf_Scn *scn = NULL;

    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr header;
        GElf_Dyn entry;
        Elf_Data *data;

        if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_DYNAMIC)
            continue;
        data = elf_getdata(scn, NULL);
        for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
            note_need(needs, elf, header.sh_link, &entry);
    }
}

/* ---- finding ---- */

/* One folder of a list, with $ORIGIN replaced; owned by the caller. */
static char *linked_expand(const char *folder, size_t n, const char *origin)
{
    static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
    struct buf b = { 0 };

    for (size_t i = 0; i < n;) {
        size_t w = 0;

        while (w < 2 && strncmp(folder + i, words[w], strlen(words[w])) != 0)
            w++;
        if (w < 2) {
            buf_addstr(&b, origin);
            i += strlen(words[w]);
        } else {
            buf_addch(&b, folder[i++]);
        }
    }
    return buf_detach(&b);
}

static char *in_folder(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s", folder, name);

    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *in_list(const char *list, const char *origin, const char *name)
{
    char *found = NULL;

    for (const char *p = list; p && *p && !found;) {
        size_t n = strcspn(p, ":;");
        char *folder = linked_expand(p, n, origin);

        found = in_folder(*folder ? folder : ".", name);
        free(folder);
        p += n + (p[n] != 0);
    }
    return found;
}

static char *find_library(const struct needs *needs, const char *origin, const char *name)
{
    char *found = NULL;

    if (strchr(name, '/'))
        return access(name, R_OK) == 0 ? xstrndup(name, strlen(name)) : NULL;
    if (!needs->runpath)
        found = in_list(needs->rpath, origin, name);
    if (!found)
        found = in_list(getenv("LD_LIBRARY_PATH"), origin, name);
    if (!found)
        found = in_list(needs->runpath, origin, name);
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual) && !found; i++)
        found = in_folder(usual[i], name);
    return found;
}

/* ---- opening ---- */

static void add_text(char ***texts, size_t *n, size_t *cap, const char *s)
{
    GROW(*texts, *cap, *n + 1);
    (*texts)[(*n)++] = xstrndup(s, strlen(s));
}

/* By its real path; true: it is new. */
static bool is_new(struct linked *l, const char *path)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return false;
    for (size_t i = 0; i < l->nseen; i++)
        if (strcmp(l->seen[i], real) == 0)
            return false;
    add_text(&l->seen, &l->nseen, &l->seen_cap, real);
    return true;
}

static void add_needs(struct linked *l, const struct needs *needs, const char *path)
{
    char real[PATH_MAX] = "";
    struct error err;
    char *slash;

    if (!realpath(path, real))
        return;
    slash = strrchr(real, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < needs->count; i++) {
        char *found = find_library(needs, real, needs->names[i]);

        if (!found || linked_add(l, found, true, &err) < 0)
            add_text(&l->missing, &l->nmissing, &l->missing_cap, needs->names[i]);
        free(found);
    }
}

static void linked_add_file(struct linked *l, Elf *elf, const char *path,
                            struct site_tables *tables)
{
    const char *slash = strrchr(path, '/');

    if (l->count && site_tables_count(tables) == 0) {
        add_text(&l->plain, &l->nplain, &l->plain_cap, slash ? slash + 1 : path);
        site_tables_close(tables);
        return;
    }
    GROW(l->files, l->cap, l->count + 1);
    l->files[l->count++] =
        (struct linked_file){ xstrndup(path, strlen(path)), build_id(elf), tables };
}

int linked_add(struct linked *l, const char *path, bool libraries, struct error *err)
{
    struct site_tables *tables;
    struct needs needs = { 0 };
    struct elf_file file;

    if (access(path, R_OK) == 0 && !is_new(l, path))
        return 0;
    tables = site_tables_open(path, err);
    if (!tables)
        return -1;
    elf_file_open(&file, path, NULL, 0, false);
    if (!file.elf) {
        site_tables_close(tables);
        error_set(err, "cannot read '%s': %s", path, file.problem ? file.problem : "no ELF file");
        elf_file_close(&file);
        return -1;
    }
    linked_add_file(l, file.elf, path, tables);
    if (libraries)
        list_needs(&needs, file.elf);
    elf_file_close(&file);
    add_needs(l, &needs, path);
    free_texts(needs.names, needs.count);
    free(needs.rpath);
    free(needs.runpath);
    return 0;
}

int linked_open(struct linked *l, const char *program, bool libraries, struct error *err)
{
    *l = (struct linked){ 0 };
    if (linked_add(l, program, libraries, err) == 0)
        return 0;
    linked_release(l);
    return -1;
}

/* ---- questions ---- */

const struct sites_header *linked_find(const struct linked *l, const uint64_t id[2], size_t *file)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct sites_header *h = site_tables_find(l->files[i].tables, id);

        if (h && file)
            *file = i;
        if (h)
            return h;
    }
    return NULL;
}

uint64_t linked_sites(const struct linked *l)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < site_tables_count(l->files[i].tables); k++)
            sum += site_tables_get(l->files[i].tables, k)->nsites;
    return sum;
}
