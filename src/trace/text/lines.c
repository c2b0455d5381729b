/* lines.c - reading lines, and showing pieces of them in errors */
#include "trace/text/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void lines_init(struct lines *l, struct input *in)
{
    *l = (struct lines){ .in = in };
}

void lines_release(struct lines *l)
{
    input_close(l->in);
    *l = (struct lines){ 0 };
}

int lines_rewind(struct lines *l, struct error *err)
{
    struct input *in = l->in;

    lines_init(l, in);
    return input_rewind(in, err);
}

int lines_error(const struct lines *l, struct error *err)
{
    return error_prefix(err, "line %" PRIu64, l->number);
}

/* Show more of the stream; the unread part of the window stays visible. */
static int more(struct lines *l, struct error *err)
{
    const char *data;
    size_t len;
    int r;

    if (!l->start) /* others may have looked at the beginning already */
        r = input_peek(l->in, 1, &data, &len, &l->eof, err);
    else
        r = input_more(l->in, (size_t)(l->p - l->start), &data, &len, &l->eof, err);
    if (r)
        return -1;
    l->start = l->p = data;
    l->end = data + len;
    return 0;
}

/* The end of the line at p, showing more of the stream where needed; NULL on an error. */
static const char *line_end(struct lines *l, struct error *err)
{
    size_t searched = 0;

    for (;;) {
        const char *nl = memchr(l->p + searched, '\n', (size_t)(l->end - l->p) - searched);
        const char *stop = nl ? nl : l->end;

        if ((size_t)(stop - l->p) > LINE_MAX_BYTES) {
            error_set(err, "longer than %zu bytes", LINE_MAX_BYTES);
            lines_error(l, err);
            return NULL;
        }
        if (nl || l->eof)
            return stop;
        searched = (size_t)(l->end - l->p);
        if (more(l, err))
            return NULL;
    }
}

int lines_next(struct lines *l, const char **text, size_t *len, struct error *err)
{
    const char *stop;

    if ((!l->start || l->p == l->end) && !l->eof && more(l, err))
        return -1;
    if (l->p == l->end && l->eof)
        return 0;
    l->number++;
    stop = line_end(l, err);
    if (!stop)
        return -1;
    *text = l->p;
    *len = (size_t)(stop - l->p);
    l->p = stop < l->end ? stop + 1 : stop;
    if (*len && (*text)[*len - 1] == '\r')
        --*len;
    return 1;
}

/* The first control character other than the tab, or NULL. */
static const char *find_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7f)
            return text + i;
    return NULL;
}

static bool holds_text(const char *text, size_t len)
{
    while (len && (*text == ' ' || *text == '\t'))
        text++, len--;
    return len && *text != '#';
}

/* Byte order marks: also in the middle of a file, where files were joined. */
static void skip_marks(const char **text, size_t *len)
{
    for (; *len >= 3 && !memcmp(*text, "\xef\xbb\xbf", 3); *len -= 3)
        *text += 3;
}

int lines_next_text(struct lines *l, const char **text, size_t *len, struct error *err)
{
    const char *bad;
    int r;

    do {
        r = lines_next(l, text, len, err);
        if (r <= 0)
            return r;
        skip_marks(text, len);
        bad = find_control(*text, *len);
        if (bad) {
            error_set(err, "control character 0x%02x", (unsigned char)*bad);
            return lines_error(l, err);
        }
    } while (!holds_text(*text, *len));
    return 1;
}

const char *quote_text(const char *text, size_t len)
{
    enum { KEEP = 60 };
    static _Thread_local char ring[4][4 * KEEP + 8];
    static _Thread_local unsigned next;
    char *out = ring[next++ % 4], *p = out;
    size_t n = len < KEEP ? len : KEEP;

    *p++ = '\'';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < 0x20 || c == 0x7f)
            p += sprintf(p, "\\x%02x", c);
        else
            *p++ = (char)c;
    }
    strcpy(p, n < len ? "...'" : "'");
    return out;
}
