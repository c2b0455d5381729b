/* convert.c - heddle convert: write a trace in another format
 *
 * Events are written as they were read, odd ones included: a repair is a
 * reading of the trace, not a part of it. One pass, constant memory.
 * Our own format keeps the lists of calls as they were recorded, which is
 * small; other formats get what they stand for (docs/design/reach.md).
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/progress.h"
#include "trace/text/export.h"
#include "trace/hdl/hdl.h"
#include "trace/text/event_text.h"

#include <string.h>

enum target { TO_STDOUT, TO_HDL, TO_FORMAT };

/* Where the events go; one of the writers is in use. */
struct writer {
    enum target target;
    const struct tables *tables;
    struct hdl_writer *hdl;
    struct exporter *exporter;
    struct buf text;
};

static bool ends_with(const char *s, const char *ending)
{
    size_t n = strlen(s), k = strlen(ending);

    return n > k && strcmp(s + n - k, ending) == 0;
}

static int find_target(const struct options *o, enum target *target)
{
    const char *path = o->arguments[1];

    if (strcmp(path, "-") == 0)
        *target = TO_STDOUT;
    else if (ends_with(path, ".hdl"))
        *target = TO_HDL;
    else if (export_format_of(path) >= 0)
        *target = TO_FORMAT;
    else
        return usage_error(o->command,
                           "the name '%s' says no format: use .hdl, .std, .std.gz, .std.zst, .rr, "
                           ".csv or .rvp",
                           path);
    if (option_is(o, OPT_LEVEL) && (o->numbers[OPT_LEVEL] < 1 || o->numbers[OPT_LEVEL] > 19))
        return usage_error(o->command, "option '--level' takes 1 to 19, not '%s'",
                           o->texts[OPT_LEVEL]);
    return 0;
}

static struct hdl_options hdl_choice(const struct options *o, const struct trace *t)
{
    struct hdl_options h = { .compression = HDL_ZSTD, .order = trace_info(t)->order };

    if (strcmp(o->texts[OPT_COMPRESSION], "lz4") == 0)
        h.compression = HDL_LZ4;
    else if (strcmp(o->texts[OPT_COMPRESSION], "none") == 0)
        h.compression = HDL_RAW;
    if (option_is(o, OPT_LEVEL))
        h.level = (int)o->numbers[OPT_LEVEL];
    return h;
}

static int writer_open(struct writer *w, const struct options *o, struct trace *t,
                       struct error *err)
{
    const char *path = o->arguments[1];
    struct hdl_options h = hdl_choice(o, t);

    w->tables = trace_tables(t);
    if (w->target == TO_HDL)
        trace_keep_lists(t);
    if (w->target == TO_HDL)
        w->hdl = hdl_create(path, w->tables, &h, err);
    else if (w->target == TO_FORMAT)
        w->exporter = export_open(path, (enum export_format)export_format_of(path), w->tables, err);
    return w->target == TO_STDOUT || w->hdl || w->exporter ? 0 : -1;
}

static int write_text(struct writer *w, const struct batch *b, struct error *err)
{
    w->text.len = 0;
    for (size_t i = 0; i < b->count; i++)
        text_event(&w->text, &b->events[i], b->extra, w->tables);
    if (w->text.len && fwrite(w->text.data, 1, w->text.len, stdout) != w->text.len)
        return error_set(err, "cannot write to standard output");
    return 0;
}

static int writer_write(struct writer *w, const struct batch *b, struct error *err)
{
    if (w->target == TO_HDL)
        return hdl_write(w->hdl, b, err);
    if (w->target == TO_FORMAT)
        return export_write(w->exporter, b, err);
    return write_text(w, b, err);
}

/* Complete the file; the writer is gone afterwards, also where that fails. */
static int writer_finish(struct writer *w, struct error *err)
{
    int r = 0;

    if (w->target == TO_HDL)
        r = hdl_finish(w->hdl, err);
    else if (w->target == TO_FORMAT)
        r = export_finish(w->exporter, err);
    buf_release(&w->text);
    return r;
}

static void writer_abort(struct writer *w)
{
    if (w->hdl)
        hdl_abort(w->hdl);
    if (w->exporter)
        export_abort(w->exporter);
    buf_release(&w->text);
}

static void warn_about_losses(const struct writer *w, const struct trace *t,
                              const struct options *o, const struct operand *in)
{
    const struct trace_info *info = trace_info(t);
    struct buf text = { 0 };

    if (option_is(o, OPT_QUIET))
        return;
    if (info->loss[0])
        warn("warning", "lost a part of '%s': %s", in->shown, info->loss);
    if (w->exporter && export_lost_text(export_lost(w->exporter), &text))
        warn("warning", "'%s' cannot express everything, left out or changed: %s", o->arguments[1],
             text.data);
    buf_release(&text);
}

static int convert(const struct operand *in, struct trace *t, const struct options *o,
                   struct writer *w)
{
    struct progress progress;
    struct error err;
    struct batch b;
    int got;

    if (writer_open(w, o, t, &err) < 0)
        return own_failure("%s", err.text);
    progress_start(&progress, !option_is(o, OPT_QUIET), NULL);
    while ((got = progress_next(&progress, t, &b, &err)) > 0) {
        if (writer_write(w, &b, &err) < 0) {
            progress_stop(&progress);
            writer_abort(w);
            return w->target == TO_STDOUT ? EXIT_OWN_FAILURE : own_failure("%s", err.text);
        }
    }
    if (got < 0) {
        writer_abort(w);
        return operand_error(in, &err);
    }
    warn_about_losses(w, t, o, in);
    return writer_finish(w, &err) < 0 ? own_failure("%s", err.text) : EXIT_NOTHING;
}

int cmd_convert(const struct options *o)
{
    struct writer w = { .target = TO_STDOUT };
    struct operand in;
    struct trace *t;
    int code = find_target(o, &w.target);

    if (code == 0)
        code = operand_open(&in, o->arguments[0]);
    if (code)
        return code;
    t = operand_trace(&in);
    code = t ? convert(&in, t, o, &w) : EXIT_BAD_INPUT;
    trace_close(t);
    operand_close(&in);
    return code;
}
