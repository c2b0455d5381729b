/* rr.c - the source for logs of RoadRunner's print tool (docs/format/foreign.md)
 *
 * To exchange traces with the literature only: our own formats say more.
 *
 *     @   Wr(1,@02.test/Race.x_I)  [W=(0:1)]  Race.java:12:5
 *
 * An event is a line that starts with '@', blanks, and a known operation with
 * "(thread,argument)". The log also holds the program's own output and other
 * messages of RoadRunner: all other lines are skipped. An event's location is
 * the last word of its line, where at least two words follow the operation
 * (the first is the tool's state); without one it is "?".
 */
#include "trace/text/linesource.h"

#include <string.h>

static const struct rr_op {
    const char *name;
    uint8_t op;
    uint8_t order;
} rr_ops[] = {
    { "Rd", OP_READ, 0 },
    { "Wr", OP_WRITE, 0 },
    { "ARd", OP_READ, 0 }, /* array element */
    { "AWr", OP_WRITE, 0 },
    { "VRd", OP_LOAD, ORDER_SEQ_CST }, /* volatile */
    { "VWr", OP_STORE, ORDER_SEQ_CST },
    { "VolatileRd", OP_LOAD, ORDER_SEQ_CST },
    { "VolatileWr", OP_STORE, ORDER_SEQ_CST },
    { "Acquire", OP_ACQUIRE, 0 },
    { "Release", OP_RELEASE, 0 },
    { "Start", OP_FORK, 0 },
    { "Join", OP_JOIN, 0 },
    { "Enter", OP_ENTER, 0 },
    { "Exit", OP_EXIT, 0 },
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The operation before the first '(', or NULL where the line is not an event. */
static const struct rr_op *find_rr_op(const char *p, const char *open)
{
    size_t n = (size_t)(open - p);

    for (size_t i = 0; i < sizeof(rr_ops) / sizeof(rr_ops[0]); i++)
        if (strlen(rr_ops[i].name) == n && !memcmp(rr_ops[i].name, p, n))
            return &rr_ops[i];
    return NULL;
}

/* The site that the words behind the operation name. */
static uint32_t find_location(struct linesource *s, const char *p, const char *end)
{
    const char *last = NULL;
    size_t words = 0, len = 0;

    while (p < end) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            break;
        last = p;
        while (p < end && !is_blank(*p))
            p++;
        len = (size_t)(p - last);
        words++;
    }
    return words >= 2 ? linesource_site(s, last, len) : linesource_site(s, "?               ", 1);
}

static void set_target(struct linesource *s, struct event *ev, const char *arg, size_t n)
{
    switch (ev->op) {
    case OP_ACQUIRE:
    case OP_RELEASE:
        ev->target = linesource_object(s, arg, n);
        break;
    case OP_FORK:
    case OP_JOIN:
        ev->target = linesource_thread(s, arg, n);
        break;
    case OP_ENTER:
    case OP_EXIT:
        ev->target = linesource_function(s, arg, n);
        break;
    default:
        ev->target = linesource_variable(s, arg, n);
        ev->size = 8;
    }
}

static bool has_control(const char *p, const char *end)
{
    for (; p < end; p++)
        if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
            return true;
    return false;
}

static int rr_parse(struct linesource *s, const char *text, size_t len, struct event *ev,
                    struct error *err)
{
    const char *p = text + 1, *end = text + len, *open, *comma, *close;
    const struct rr_op *op;

    if (len < 2 || *text != '@' || !is_blank(*p))
        return 0;
    while (p < end && is_blank(*p))
        p++;
    open = memchr(p, '(', (size_t)(end - p));
    op = open ? find_rr_op(p, open) : NULL;
    if (!op)
        return 0;
    if (has_control(open, end))
        return error_set(err, "control character in %s", quote_text(p, (size_t)(end - p)));
    for (close = open; close < end && !is_blank(*close);)
        close++; /* the argument may hold parentheses, but no blanks */
    comma = memchr(open, ',', (size_t)(close - open));
    if (close[-1] != ')' || !comma || comma == open + 1 || comma + 2 >= close)
        return error_set(err, "expected %s(thread,argument), found %s", op->name,
                         quote_text(p, (size_t)(end - p)));
    ev->op = op->op;
    ev->order = op->order;
    ev->thread = linesource_thread(s, open + 1, (size_t)(comma - open - 1));
    set_target(s, ev, comma + 1, (size_t)(close - comma - 2));
    ev->site = find_location(s, close, end);
    return 1;
}

static const struct source_ops rr_source = {
    .format = "rr",
    .next = linesource_next,
    .rewind = linesource_rewind,
    .close = linesource_close,
};

struct source *rr_open(struct input *in, struct tables *t, struct trace_info *i, struct error *err)
{
    (void)err; /* nothing can fail before the first line */
    return linesource_open(in, t, i, &rr_source, false, rr_parse);
}
