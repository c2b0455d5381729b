/* roundtrip.h - text trace -> foreign file -> text trace, for the tests of the writers */
#ifndef HEDDLE_TESTS_ROUNDTRIP_H
#define HEDDLE_TESTS_ROUNDTRIP_H

#include "formats.h"
#include "trace/text/export.h"

#include <stdio.h>
#include <unistd.h>

/* Write the events of a text trace to a file; the caller removes it. */
static inline char *export_text(const char *text, enum export_format format, const char *suffix,
                                struct export_lost *lost)
{
    char name[] = "/tmp/heddle-export-XXXXXX";
    int fd = mkstemp(name);
    char *path = xasprintf("%s%s", name, suffix);
    struct reading r = { 0 };
    struct source *s =
        std_open(input_from_memory(text, strlen(text), &r.err), &r.tables, &r.info, &r.err);
    struct exporter *e = export_open(path, format, &r.tables, &r.err);
    struct batch b;
    int more;

    assert_true(fd >= 0);
    close(fd);
    unlink(name);
    assert_non_null(e);
    while ((more = s->ops->next(s, &b, &r.err)) > 0)
        assert_int_equal(export_write(e, &b, &r.err), 0);
    if (more < 0)
        fail_msg("%s", r.err.text);
    *lost = *export_lost(e);
    assert_int_equal(export_finish(e, &r.err), 0);
    s->ops->close(s);
    reading_release(&r);
    return path;
}

/* The text that comes back; to be freed. */
static inline char *convert(const char *text, enum export_format format, open_fn *open,
                            struct export_lost *lost)
{
    char *path = export_text(text, format, "", lost), *back;
    struct reading r = { 0 };

    read_input(&r, open, input_open(path, &r.err));
    if (r.status)
        fail_msg("%s", r.err.text);
    unlink(path);
    free(path);
    back = buf_detach(&r.text);
    reading_release(&r);
    return back;
}

static inline bool nothing_lost(const struct export_lost *lost)
{
    struct buf b = { 0 };
    bool lossy = export_lost_text(lost, &b);

    buf_release(&b);
    return !lossy;
}

#endif
