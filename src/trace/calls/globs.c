/* globs.c - patterns for code that is left out
 *
 * Matching is fnmatch(3). A function has up to four names; each pattern is tried on all of them.
 * Callers keep what they have learned of a function or site: this is not for every event.
 */
#include "trace/calls/globs.h"
#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void globs_release(struct globs *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->list[i].text);
    free(g->list);
    *g = (struct globs){ .readable = g->readable };
}

/* ---- adding ---- */

static const struct {
    const char *text;
    enum glob_kind kind;
} prefixes[] = { { "fun:", GLOB_FUNCTION },
                 { "src:", GLOB_FILE },
                 { "file:", GLOB_FILE },
                 { "lib:", GLOB_LIBRARY } };

static void add_one(struct globs *g, const char *start, size_t n)
{
    struct glob *glob;

    while (n && strchr(" \t\r", start[0]))
        start++, n--;
    while (n && strchr(" \t\r", start[n - 1]))
        n--;
    if (n == 0 || start[0] == '#')
        return;
    GROW(g->list, g->cap, g->count + 1);
    glob = &g->list[g->count++];
    *glob = (struct glob){ .text = xstrndup(start, n) };
    glob->pattern = glob->text;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        size_t k = strlen(prefixes[i].text);

        if (strncmp(glob->text, prefixes[i].text, k) == 0) {
            glob->kind = prefixes[i].kind;
            glob->pattern = glob->text + k;
            break;
        }
    }
}

void globs_add(struct globs *g, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n;");

        add_one(g, text, n);
        text += n + (text[n] != 0);
    }
}

int globs_add_file(struct globs *g, const char *path, struct error *err)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;
    int failed;

    if (!f)
        return error_set(err, "cannot read '%s': %s", path, strerror(errno));
    while (getline(&line, &cap, f) > 0)
        add_one(g, line, strcspn(line, "\n"));
    failed = ferror(f) ? errno : 0;
    free(line);
    fclose(f);
    return failed ? error_set(err, "cannot read '%s': %s", path, strerror(failed)) : 0;
}

/* ---- functions ---- */

static bool matches(const char *pattern, const char *text)
{
    return fnmatch(pattern, text, 0) == 0;
}

/* The end of "ns::f<a>" in "int ns::f<a>(int (*)(b)) const": the first '(' outside of <>. */
static size_t without_parameters(const char *name)
{
    int depth = 0;

    for (size_t i = 0; name[i]; i++) {
        if (name[i] == '(' && depth == 0 && i)
            return i;
        depth += name[i] == '<';
        depth -= name[i] == '>' && depth > 0;
    }
    return strlen(name);
}

/* Where the last part of the qualified name begins, and where it ends: "f" of the same. */
static size_t last_part(const char *name, size_t *end)
{
    size_t from = 0;
    int depth = 0;

    *end = 0;
    for (size_t i = 0, n = without_parameters(name); i < n; i++) {
        if (name[i] == '<' && depth++ == 0 && from <= i)
            *end = i;
        else if (name[i] == '>' && depth > 0)
            depth--;
        else if (depth == 0 && (name[i] == ' ' || (name[i] == ':' && i && name[i - 1] == ':')))
            from = i + 1, *end = 0;
    }
    if (*end <= from)
        *end = without_parameters(name);
    return from;
}

enum { NAMES = 4 };

static size_t names_of(const struct globs *g, const char *name, char *names[NAMES])
{
    struct buf readable = { 0 };
    size_t from, end;

    names[0] = xstrndup(name, strlen(name));
    if (!g->readable || !g->readable(name, &readable)) {
        buf_release(&readable);
        return 1;
    }
    from = last_part(readable.data, &end);
    names[1] = xstrndup(readable.data, without_parameters(readable.data));
    names[2] = xstrndup(readable.data + from, end - from);
    names[3] = buf_detach(&readable);
    return NAMES;
}

bool globs_match_function(struct globs *g, const char *name)
{
    char *names[NAMES];
    size_t n = names_of(g, name, names);
    bool found = false;

    for (size_t i = 0; i < g->count; i++) {
        struct glob *glob = &g->list[i];

        for (size_t k = 0; k < n && glob->kind <= GLOB_FUNCTION; k++)
            if (matches(glob->pattern, names[k]))
                found = glob->used = true;
    }
    for (size_t k = 0; k < n; k++)
        free(names[k]);
    return found;
}

/* ---- places ---- */

/* Cut ":12" from the end. */
static void cut_number(char *text)
{
    size_t n = strlen(text), k = n;

    while (k && isdigit((unsigned char)text[k - 1]))
        k--;
    if (k && k < n && text[k - 1] == ':')
        text[k - 1] = 0;
}

static bool matches_file(const char *pattern, const char *file)
{
    const char *last = strrchr(file, '/');

    return matches(pattern, file) || (last && !strchr(pattern, '/') && matches(pattern, last + 1));
}

bool globs_match_location(struct globs *g, const char *location)
{
    char *text = xstrndup(location, strlen(location)), *plus = strstr(text, "+0x");
    bool found = false;

    cut_number(text);
    cut_number(text);
    if (text[strspn(text, "0123456789?")] == 0)
        text[0] = 0; /* only a number, or nothing is known: no file */
    if (plus)
        *plus = 0;
    for (size_t i = 0; i < g->count && text[0]; i++) {
        struct glob *glob = &g->list[i];
        bool asked =
            plus ? glob->kind == GLOB_LIBRARY : glob->kind == GLOB_ANY || glob->kind == GLOB_FILE;

        if (asked && matches_file(glob->pattern, text))
            found = glob->used = true;
    }
    free(text);
    return found;
}
