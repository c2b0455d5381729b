/* tidy.c - one spelling for the name of a source file */
#include "symbol/tidy.h"

#include <string.h>

static bool is_dots(const char *part, size_t n)
{
    return n == 0 || (part[0] == '.' && (n == 1 || (n == 2 && part[1] == '.')));
}

bool tidy_is(const char *path)
{
    if (path[0] != '/')
        return false;
    while (*path) {
        size_t n = strcspn(++path, "/");

        if (is_dots(path, n))
            return false;
        path += n;
    }
    return true;
}

/* Take the last part off, unless it is ".." itself or there is none. */
static bool drop_last(struct buf *out, size_t start)
{
    size_t end = out->len;

    while (end > start && out->data[end - 1] != '/')
        end--;
    if (out->len == start || strncmp(out->data + end, "..", out->len - end) == 0)
        return false;
    out->len = end > start ? end - 1 : start;
    out->data[out->len] = 0;
    return true;
}

static void add_parts(struct buf *out, size_t start, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");
        bool up = n == 2 && path[0] == '.' && path[1] == '.';

        if (!is_dots(path, n) || (up && !drop_last(out, start))) {
            if (out->len > start)
                buf_addch(out, '/');
            buf_add(out, path, n);
        }
        path += n + (path[n] == '/');
    }
}

void tidy_path(struct buf *out, const char *folder, const char *path)
{
    bool is_absolute = path[0] == '/' || (folder && folder[0] == '/');
    size_t start;

    if (is_absolute)
        buf_addch(out, '/');
    start = out->len;
    if (path[0] != '/' && folder)
        add_parts(out, start, folder);
    add_parts(out, start, path);
    buf_add(out, "", 0);
}
