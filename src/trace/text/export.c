/* export.c - writing traces: the text format, and what all formats share */
#include "trace/text/export_impl.h"
#include "trace/text/output.h"
#include "trace/text/event_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)64 << 10)

static void std_event(struct exporter *e, const struct event *ev, const uint64_t *extra)
{
    text_event(&e->out, ev, extra, e->tables);
}

static const struct export_ops export_std = { .event = std_event };

static const struct export_ops *const formats[] = {
    [EXPORT_STD] = &export_std,
    [EXPORT_RR] = &export_rr,
    [EXPORT_CSV] = &export_csv,
    [EXPORT_RVP] = &export_rvp,
};

int export_format_of(const char *path)
{
    static const char *const endings[] = { ".std", ".rr", ".csv", ".rvp" };
    size_t n = strlen(path);

    if (n > 3 && !strcmp(path + n - 3, ".gz"))
        n -= 3;
    else if (n > 4 && !strcmp(path + n - 4, ".zst"))
        n -= 4;
    for (int i = 0; i < 4; i++) {
        size_t k = strlen(endings[i]);

        if (n > k && !memcmp(path + n - k, endings[i], k))
            return i;
    }
    return -1;
}

struct exporter *export_open(const char *path, enum export_format format,
                             const struct tables *tables, struct error *err)
{
    struct output *file = output_open(path, err);
    struct exporter *e;

    if (!file)
        return NULL;
    e = xcalloc(1, sizeof(*e));
    e->file = file;
    e->ops = formats[format];
    e->tables = tables;
    if (e->ops->start)
        e->ops->start(e);
    return e;
}

static int export_flush(struct exporter *e, struct error *err)
{
    size_t n = e->out.len;

    e->out.len = 0;
    return n ? output_write(e->file, e->out.data, n, err) : 0;
}

int export_write(struct exporter *e, const struct batch *b, struct error *err)
{
    for (size_t i = 0; i < b->count; i++) {
        e->ops->event(e, &b->events[i], b->extra);
        if (e->out.len >= FLUSH_BYTES && export_flush(e, err))
            return -1;
    }
    return export_flush(e, err);
}

const struct export_lost *export_lost(const struct exporter *e)
{
    return &e->lost;
}

static void exporter_free(struct exporter *e)
{
    buf_release(&e->out);
    map_release(&e->numbers);
    free(e->thread_state);
    free(e->pc);
    free(e);
}

int export_finish(struct exporter *e, struct error *err)
{
    int r = export_flush(e, err);

    if (r)
        output_abort(e->file);
    else
        r = output_finish(e->file, err);
    exporter_free(e);
    return r;
}

void export_abort(struct exporter *e)
{
    if (!e)
        return;
    output_abort(e->file);
    exporter_free(e);
}

static void add_count(struct buf *b, size_t start, uint64_t n, const char *what)
{
    if (n)
        buf_addf(b, "%s%" PRIu64 " %s", b->len > start ? ", " : "", n, what);
}

bool export_lost_text(const struct export_lost *lost, struct buf *b)
{
    size_t start = b->len;

    for (int op = 0; op < OP_COUNT; op++)
        add_count(b, start, lost->ops[op], op_table[op].name);
    add_count(b, start, lost->values, "values");
    add_count(b, start, lost->invented_values, "values unknown, written as 0");
    add_count(b, start, lost->orders, "memory orders, written as seq_cst");
    add_count(b, start, lost->ranges, "address ranges, written as names");
    return b->len > start;
}
