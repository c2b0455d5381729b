/* source_lines.c - lines of the program's source around a location */
#include "report/source_lines.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SOURCE_MAX = 64 << 20, /* bytes of a file */
    LINE_MAX_SHOWN = 160,  /* of generated code the start is enough */
    TAB_WIDTH = 8
};

void source_cache_release(struct source_cache *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->files[i].text);
        free(c->files[i].lines);
    }
    free(c->files);
    intern_release(&c->names);
    *c = (struct source_cache){ 0 };
}

static void source_read_all(struct source_file *f, int fd, size_t bytes)
{
    f->text = xmalloc(bytes + 1);
    while (f->bytes < bytes) {
        ssize_t n = read(fd, f->text + f->bytes, bytes - f->bytes);

        if (n <= 0)
            break;
        f->bytes += (size_t)n;
    }
    f->text[f->bytes] = 0;
}

static void find_lines(struct source_file *f)
{
    size_t at = 0;

    while (at < f->bytes) {
        const char *end = memchr(f->text + at, '\n', f->bytes - at);

        GROW(f->lines, f->cap, f->count + 1);
        f->lines[f->count++] = at;
        at = end ? (size_t)(end - f->text) + 1 : f->bytes;
    }
}

static void source_load(struct source_file *f, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= SOURCE_MAX)
        source_read_all(f, fd, (size_t)st.st_size);
    close(fd);
    if (f->text)
        find_lines(f);
}

static const struct source_file *get_file(struct source_cache *c, const char *path, size_t len)
{
    uint32_t number = intern_put(&c->names, path, len);

    if (number == c->count) {
        GROW(c->files, c->cap, c->count + 1);
        source_load(&c->files[c->count++], intern_get(&c->names, number));
    }
    return &c->files[number];
}

/* Tabs become blanks, so that the margin in front does not shift them. */
static const char *line_text(struct findings *home, const struct source_file *f, size_t line)
{
    const char *at = f->text + f->lines[line];
    const char *end = f->text + (line + 1 < f->count ? f->lines[line + 1] : f->bytes);
    struct buf b = { 0 };
    const char *s;

    for (; at < end && *at != '\n' && *at != '\r' && b.len < LINE_MAX_SHOWN; at++) {
        if (*at == '\t')
            do
                buf_addch(&b, ' ');
            while (b.len % TAB_WIDTH);
        else
            buf_addch(&b, *at);
    }
    buf_add(&b, "", 0);
    s = findings_string(home, b.data);
    buf_release(&b);
    return s;
}

const struct excerpt *source_excerpt(struct source_cache *c, struct findings *home,
                                     const char *location)
{
    const struct source_file *f;
    struct excerpt *out;
    uint32_t line, column;
    size_t len;

    if (!location || !location_split(location, &len, &line, &column))
        return NULL;
    f = get_file(c, location, len);
    if (!f->text || line == 0 || line > f->count)
        return NULL;
    out = arena_alloc(&home->memory, sizeof(*out));
    *out = (struct excerpt){ .location = location, .first = line > 1 ? line - 1 : 1 };
    while (out->count < EXCERPT_LINES && out->first + out->count <= f->count &&
           out->first + out->count <= line + 1) {
        out->lines[out->count] = line_text(home, f, out->first - 1 + out->count);
        out->count++;
    }
    out->marked = line - out->first;
    return out;
}
