/* command_file.c - what a run was: its directory, command line and environment
 *
 * Strings, each with its zero byte: COMMAND_HEAD, the directory, the number of arguments, the
 * arguments, the environment.
 */
#include "cmd/command_file.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/tempfile.h"
#include "cmd/runs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_HEAD "heddle-command 1"

static void command_file_put(FILE *out, const char *s)
{
    fwrite(s, 1, strlen(s) + 1, out);
}

void command_file_write(const char *list, char *const argv[])
{
    char *path = xasprintf("%s" RUN_COMMAND, list), number[24];
    char *directory = getcwd(NULL, 0);
    FILE *out = directory ? private_fopen(path) : NULL;
    size_t n = 0;

    while (argv[n])
        n++;
    snprintf(number, sizeof(number), "%zu", n);
    if (out) {
        command_file_put(out, COMMAND_HEAD);
        command_file_put(out, directory);
        command_file_put(out, number);
        for (size_t i = 0; i < n; i++)
            command_file_put(out, argv[i]);
        for (char **e = environ; e && *e; e++)
            command_file_put(out, *e);
        if (ferror(out) | fclose(out))
            unlink(path);
    }
    free(directory);
    free(path);
}

/* ---- reading ---- */

static int command_file_read_all(const char *path, struct buf *b, struct error *err)
{
    FILE *in = fopen(path, "re");
    char piece[4096];
    size_t n;

    if (!in)
        return error_set(err, "cannot read '%s': %s", path, strerror(errno));
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        buf_add(b, piece, n);
    fclose(in);
    return 0;
}

/* The next string, NULL at the end. */
static char *next(char **at, const char *end)
{
    char *s = *at;

    if (s >= end || !memchr(s, 0, (size_t)(end - s)))
        return NULL;
    *at += strlen(s) + 1;
    return s;
}

static int command_file_split(struct command_file *c, size_t bytes, struct error *err)
{
    char *at = c->text, *s;
    const char *end = c->text + bytes, *head = next(&at, end), *number;
    size_t n, cap = 0, count = 0;

    c->directory = next(&at, end);
    number = next(&at, end);
    if (!head || strcmp(head, COMMAND_HEAD) != 0 || !number)
        return error_set(err, "it is no file of heddle's");
    n = strtoul(number, NULL, 10);
    if (n == 0 || n > bytes)
        return error_set(err, "it is damaged");
    c->argv = xcalloc(n + 1, sizeof(*c->argv));
    for (size_t i = 0; i < n; i++)
        if (!(c->argv[i] = next(&at, end)))
            return error_set(err, "it is damaged");
    do {
        s = next(&at, end);
        GROW(c->environment, cap, count + 1);
        c->environment[count++] = s;
    } while (s);
    return 0;
}

static char *command_file_path_of(const char *trace)
{
    char *directory = xstrndup(trace, strlen(trace)), *slash = strrchr(directory, '/');
    char *list, *path;

    if (slash)
        *slash = 0;
    list = run_list_of(slash ? directory : ".", slash ? slash + 1 : trace);
    path = list ? xasprintf("%s" RUN_COMMAND, list) : NULL;
    free(list);
    free(directory);
    return path;
}

int command_file_read(struct command_file *c, const char *trace, struct error *err)
{
    char *path = command_file_path_of(trace);
    struct error why;
    struct buf b = { 0 };
    int r = 0;

    *c = (struct command_file){ .text = NULL };
    if (!path)
        return error_set(err, "'%s' is in no list of a run of heddle", trace);
    if (command_file_read_all(path, &b, err) < 0) {
        r = -1;
    } else {
        size_t bytes = b.len;

        buf_addch(&b, 0);
        c->text = buf_detach(&b);
        if (command_file_split(c, bytes, &why) < 0)
            r = error_set(err, "cannot use '%s': %s", path, why.text);
    }
    buf_release(&b);
    free(path);
    return r;
}

void command_file_release(struct command_file *c)
{
    free(c->argv);
    free(c->environment);
    free(c->text);
    *c = (struct command_file){ .text = NULL };
}
