/* csv.c - the source for the SSHB prototype's CSV (docs/format/foreign.md)
 *
 * To exchange traces with the literature only: our own formats say more.
 *
 *     3,WR,17,Test.java:4:1,9
 *     thread, operation, object, file:line:column, index
 *
 * A thread starts and ends by signals: the parent's SIG(i) pairs with the
 * child's first WT(i), the child's last SIG(i) with the parent's WT(i). Which
 * signal is which is known only at the end of the file, so all of them are
 * read as happens-before / happens-after on an object: the same edges, and
 * the trace can be streamed. The number of a signal is the LAST field, as the
 * prototype reads it. A notification orders nothing: a wait may end without one.
 */
#include "trace/text/linesource.h"

#include <string.h>

static const struct csv_op {
    const char *name;
    uint8_t op; /* 0: a line without meaning for us */
    uint8_t order;
    char prefix; /* of the object's name, so that families of signals stay apart */
} csv_ops[] = {
    { "RD", OP_READ, 0, 0 },
    { "WR", OP_WRITE, 0, 0 },
    { "ARD", OP_LOAD, ORDER_SEQ_CST, 0 },
    { "AWR", OP_STORE, ORDER_SEQ_CST, 0 },
    { "LK", OP_ACQUIRE, 0, 0 },
    { "UK", OP_RELEASE, 0, 0 },
    { "SIG", OP_BEFORE, 0, 's' },
    { "WT", OP_AFTER, 0, 's' },
    { "SIGNALJOIN", OP_BEFORE, 0, 's' },
    { "WAITJOIN", OP_AFTER, 0, 's' },
    { "SIGNALNOTIFY", OP_SIGNAL, 0, 's' },
    { "WAITNOTIFY", OP_WAIT, 0, 's' },
    { "NT", OP_SIGNAL, 0, 'n' },
    { "NTWT", OP_WAIT, 0, 'n' },
    { "PREBRANCH", OP_BRANCH, 0, 0 },
    { "POSTBRANCH", 0, 0, 0 },
};

enum { FIELDS = 5 };

struct field {
    const char *text;
    size_t len;
};

/* Exactly five fields, the location may hold commas (it is what stands between). */
static int split_fields(const char *text, size_t len, struct field *f, struct error *err)
{
    const char *p = text, *end = text + len, *comma;
    int n;

    for (n = 0; n < FIELDS - 2; n++, p = comma + 1) {
        comma = memchr(p, ',', (size_t)(end - p));
        if (!comma)
            break;
        f[n] = (struct field){ p, (size_t)(comma - p) };
    }
    comma = n == FIELDS - 2 ? memrchr(p, ',', (size_t)(end - p)) : NULL;
    if (!comma)
        return error_set(err, "expected thread,operation,object,location,index, found %s",
                         quote_text(text, len));
    f[3] = (struct field){ p, (size_t)(comma - p) };
    f[4] = (struct field){ comma + 1, (size_t)(end - comma - 1) };
    return 0;
}

static const struct csv_op *find_csv_op(struct field f)
{
    for (size_t i = 0; i < sizeof(csv_ops) / sizeof(csv_ops[0]); i++)
        if (strlen(csv_ops[i].name) == f.len && !memcmp(csv_ops[i].name, f.text, f.len))
            return &csv_ops[i];
    return NULL;
}

static int check_number(struct field f, const char *what, struct error *err)
{
    bool good = f.len > 0;

    for (size_t i = 0; i < f.len; i++)
        good = good && is_digit(f.text[i]);
    if (good && f.len <= 20)
        return 0;
    return error_set(err, "bad %s %s", what, quote_text(f.text, f.len));
}

static int set_target(struct linesource *s, struct event *ev, const struct csv_op *op,
                      const struct field *f, struct error *err)
{
    char name[24 + INPUT_PADDING];

    switch (op_class_of(ev->op)) {
    case CLASS_COND:
    case CLASS_ANNOTATION:
        if (check_number(f[4], "signal number", err))
            return -1;
        name[0] = op->prefix;
        memcpy(name + 1, f[4].text, f[4].len);
        ev->target = linesource_object(s, name, f[4].len + 1);
        return 0;
    case CLASS_BRANCH:
        s->base.info->branches = true;
        return 0;
    case CLASS_LOCK:
        if (check_number(f[2], "lock", err))
            return -1;
        ev->target = linesource_object(s, f[2].text, f[2].len);
        return 0;
    default:
        if (check_number(f[2], "variable", err))
            return -1;
        ev->target = linesource_variable(s, f[2].text, f[2].len);
        ev->size = 8;
        return 0;
    }
}

static int csv_parse(struct linesource *s, const char *text, size_t len, struct event *ev,
                     struct error *err)
{
    struct field f[FIELDS];
    const struct csv_op *op;

    if (split_fields(text, len, f, err))
        return -1;
    op = find_csv_op(f[1]);
    if (!op)
        return error_set(err, "unknown operation %s", quote_text(f[1].text, f[1].len));
    if (check_number(f[0], "thread", err))
        return -1;
    if (!op->op)
        return 0;
    ev->op = op->op;
    ev->order = op->order;
    ev->thread = linesource_thread(s, f[0].text, f[0].len);
    if (!f[3].len)
        return error_set(err, "empty location in %s", quote_text(text, len));
    ev->site = linesource_site(s, f[3].text, f[3].len);
    return set_target(s, ev, op, f, err) ? -1 : 1;
}

static const struct source_ops csv_source = {
    .format = "csv",
    .next = linesource_next,
    .rewind = linesource_rewind,
    .close = linesource_close,
};

struct source *csv_open(struct input *in, struct tables *t, struct trace_info *i, struct error *err)
{
    (void)err; /* nothing can fail before the first line */
    return linesource_open(in, t, i, &csv_source, true, csv_parse);
}
