/* args.c - see args.h; nothing is freed, the process execs */
#include "driver/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *there(void *memory)
{
    if (!memory) {
        fputs("heddle-cc: out of memory\n", stderr);
        exit(128);
    }
    return memory;
}

static char *vformat(const char *fmt, va_list ap)
{
    char *s;
    return there(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *format(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = vformat(fmt, ap);
    va_end(ap);
    return s;
}

void args_add(struct args *a, const char *s)
{
    if (a->count + 2 > a->room) {
        a->room = 2 * a->room + 64;
        a->at = there(realloc(a->at, a->room * sizeof *a->at));
    }
    a->at[a->count++] = there(strdup(s));
    a->at[a->count] = NULL;
}

void args_addf(struct args *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    args_add(a, vformat(fmt, ap));
    va_end(ap);
}

void args_split(struct args *a, const char *words)
{
    char *copy = there(strdup(words));
    for (char *s = strtok(copy, " \t"); s; s = strtok(NULL, " \t"))
        args_add(a, s);
    free(copy);
}

char *read_text(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t n = 0, room = 0, got;
    if (!f)
        return NULL;
    do {
        if (n + 4096 > room)
            text = there(realloc(text, room = 2 * room + 8192));
        got = fread(text + n, 1, room - n - 1, f);
        n += got;
    } while (got > 0);
    text[n] = 0;
    fclose(f);
    return text;
}

/* One argument of a response file, into `out`; returns what follows. */
static const char *next_word(const char *s, char *out)
{
    char quote = 0;
    for (; *s && (quote || !strchr(" \t\r\n\f\v", *s)); s++) {
        if (*s == '\\' && s[1] && quote != '\'') {
            *out++ = *++s;
        } else if (quote ? *s == quote : *s == '"' || *s == '\'') {
            quote = quote ? 0 : *s;
        } else {
            *out++ = *s;
        }
    }
    *out = 0;
    return s;
}

static void expand_in_args(struct args *a, const char *s, int depth)
{
    char *text = s[0] == '@' && depth < 16 ? read_text(s + 1) : NULL;
    if (!text) {
        args_add(a, s);
        return;
    }
    char *word = there(malloc(strlen(text) + 1));
    for (const char *at = text;;) {
        at += strspn(at, " \t\r\n\f\v");
        if (!*at)
            break;
        at = next_word(at, word);
        expand_in_args(a, word, depth + 1);
    }
    free(word);
    free(text);
}

void args_expand(struct args *a, const char *s)
{
    expand_in_args(a, s, 0);
}
