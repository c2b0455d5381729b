/* rt_libc.c - looking functions up in the table of rt_libc.h
 *
 * Also part of the plugin. The table is for readers; what is searched is made from it once: each
 * name on its own, sorted.
 */
#include "abi/rt_libc.h"

#include <ctype.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *names; /* each: its kind, the name, a space; a model's number of arguments first */
    const char *args, *result;
    uint8_t does;
};

static const struct row rows[] = {
#define ROW(args, result, does, names) { names, args, result, LIBC_##does },
#define N(name)                        "N" #name " "
#define I(name)                        "I" #name " "
#define M(name, n)                     "M" #n #name " "
#define V(name, n)                     "V" #n #name " "
#define P(pattern)                     "P" pattern " "
#define Q(pattern)                     "Q" pattern " "
#include "abi/rt_libc_table.h"
};

static struct libc_function *functions;
static size_t nfunctions, nnames; /* names first, then patterns */

/* ---- the searched table ---- */

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) {
        fputs("heddle: out of memory\n", stderr);
        abort();
    }
    return p;
}

static int rt_libc_compare(const void *a, const void *b)
{
    const struct libc_function *f = a, *g = b;
    return f->pattern != g->pattern ? f->pattern - g->pattern
           : f->pattern             ? (f->name > g->name) - (f->name < g->name)
                                    : strcmp(f->name, g->name);
}

/* The copy of a name lies behind that of the one before: patterns stay in order. */
static char *rt_libc_add(const struct row *row, const char *at, size_t length, char *text)
{
    struct libc_function *f = &functions[nfunctions++];
    char kind = *at++;
    *f = (struct libc_function){ text,
                                 row->args,
                                 row->result,
                                 row->does,
                                 -1,
                                 kind == 'V',
                                 kind == 'I' || kind == 'Q',
                                 kind == 'P' || kind == 'Q' };
    if (kind == 'M' || kind == 'V')
        f->modelled = (int8_t)(*at++ - '0');
    length -= (size_t)1 + (f->modelled >= 0);
    memcpy(text, at, length);
    text[length] = 0;
    nnames += !f->pattern;
    return text + length + 1;
}

static void rt_libc_make(void)
{
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *at = rows[i].names; *at; at++, bytes++)
            count += *at == ' ';
    char *text = allocate(bytes);
    functions = allocate(count * sizeof *functions);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *at = rows[i].names, *end; *at; at = end + 1) {
            end = strchr(at, ' ');
            text = rt_libc_add(&rows[i], at, (size_t)(end - at), text);
        }
    qsort(functions, nfunctions, sizeof *functions, rt_libc_compare);
}

const struct libc_function *libc_functions(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, rt_libc_make);
    *count = nfunctions;
    return functions;
}

/* ---- looking up ---- */

static const struct libc_function *find_name(const char *name)
{
    struct libc_function key = { .name = name };
    return bsearch(&key, functions, nnames, sizeof key, rt_libc_compare);
}

/* sinf, sinl, sinf32x: the table has sin. */
static const struct libc_function *find_variant(const char *name)
{
    static const char *const ends[] = { "f32x", "f64x", "f128", "f32", "f64", "f", "l" };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t e = strlen(ends[i]);
        char base[32];
        if (n <= e || n >= sizeof base || strcmp(name + n - e, ends[i]) != 0)
            continue;
        memcpy(base, name, n - e);
        base[n - e] = 0;
        const struct libc_function *f = find_name(base);
        if (f && f->does == LIBC_NUMBERS)
            return f;
    }
    return NULL;
}

static bool fits(const char *pattern, const char *name)
{
    size_t n = strcspn(pattern, "*[");
    return strncmp(pattern, name, n) == 0 && fnmatch(pattern + n, name + n, 0) == 0;
}

const struct libc_function *libc_find(const char *name)
{
    size_t count;
    libc_functions(&count);
    const struct libc_function *f = find_name(name);
    if (!f)
        f = find_variant(name);
    for (size_t i = nnames; i < count && !f; i++)
        if (fits(functions[i].name, name))
            f = &functions[i];
    return f && f->does != LIBC_UNKNOWN ? f : NULL;
}

/* ---- columns ---- */

char libc_hidden(const struct libc_function *f)
{
    return f->args[0] == '?' ? 'r' : f->args[0] == '!' ? 'w' : 0;
}

static bool is_letter(char c)
{
    return c == '-' || isalpha((unsigned char)c);
}

/* Where the argument's letter stands; NULL: nowhere. */
static const char *letter_at(const struct libc_function *f, unsigned i)
{
    const char *at = f->args + (libc_hidden(f) != 0);
    while (*at) {
        const char *next = at + 1;
        while (*next && *next != '*' && !is_letter(*next))
            next++;
        if (i == 0 || *next == '*')
            return at;
        at = next;
        i--;
    }
    return NULL;
}

char libc_letter(const struct libc_function *f, unsigned i)
{
    const char *at = letter_at(f, i);
    return !at || *at == '-' ? 0 : *at;
}

char libc_touch(const struct libc_function *f, unsigned i)
{
    static const char letters[] = "rwbfRWBsSvVkKy", touches[] = "rwbfRWBrRwWrww";
    char letter = libc_letter(f, i);
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? touches[at - letters] : 0;
}

int libc_with(const struct libc_function *f, const char *letters)
{
    unsigned n = 0;
    for (const char *at = f->args; *at; at++)
        n += is_letter(*at);
    for (unsigned i = 0; i < n; i++) {
        char letter = libc_letter(f, i);
        if (letter && strchr(letters, letter))
            return (int)i;
    }
    return -1;
}

static bool read_extent(const char *at, struct libc_extent *e)
{
    if (!isdigit((unsigned char)*at))
        return false;
    *e = (struct libc_extent){ *at++ - '0', -1, 1, 0 };
    if (isdigit((unsigned char)*at))
        e->times = *at++ - '0';
    if (*at == '%')
        e->unit = sizeof(wchar_t), at++;
    if (*at == '+')
        e->more = sizeof(long);
    return true;
}

bool libc_extent(const struct libc_function *f, unsigned i, struct libc_extent *e)
{
    const char *at = letter_at(f, i);
    return at && read_extent(at + 1, e);
}

bool libc_result_extent(const struct libc_function *f, struct libc_extent *e)
{
    size_t n = strcspn(f->result, "hH");
    return f->result[n] && read_extent(f->result + n + 1, e);
}

bool libc_is_text(const struct libc_function *f, unsigned i)
{
    const char *at = letter_at(f, i);
    return at && at[1] == '$';
}
