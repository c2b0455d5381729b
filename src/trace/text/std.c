/* std.c - the source for text traces (docs/format/std.md)
 *
 * A line is split into thread, operation and location in one of two ways: by
 * bit masks where it is shorter than 64 bytes and ordinary (almost all are),
 * else step by step with exact errors. Everything after the split is shared,
 * so there is one reading of the grammar.
 */
#include "trace/text/entries.h"
#include "trace/text/lines.h"
#include "trace/text/scan.h"
#include "trace/source.h"

#include <inttypes.h>
#include <string.h>

/* Events of a batch: 40 bytes each, so a batch and the input window stay in the cache. */
enum { BATCH_EVENTS = 4096 };
/* Words of D that end a batch early, so that calls with long lists cannot fill the memory. */
enum { BATCH_EXTRA = 1 << 16 };

struct std {
    struct source base;
    struct lines lines;
    struct name_cache threads, variables, objects, functions, sites, ops;
    uint16_t flags; /* of all events so far */
    uint64_t position;
    struct event *events;
    size_t count;
    uint64_t *extra;
    size_t nextra, extra_cap;
};

/* One line, split. */
struct fields {
    const char *thread, *op, *loc;
    size_t nthread, nop, nloc;
    size_t open;     /* offset of the first '(' in op; nop where there is none */
    bool has_equals; /* op may hold a '=' */
};

/* What stands between the parentheses. */
struct arg {
    const char *text;
    size_t len;
};

/* Cut the value off the argument: "=5", for rmw also "=4>5". What is not one stays in the name. */
static int take_value(struct arg *a, struct event *ev, struct error *err)
{
    const char *eq = memrchr(a->text, '=', a->len);
    const char *p, *gt = NULL;
    size_t n;
    bool neg = false, old_neg = false;

    if (!eq || eq == a->text)
        return 0;
    p = eq + 1;
    n = (size_t)(a->text + a->len - p);
    if (ev->op == OP_RMW)
        gt = memchr(p, '>', n);
    if (gt) {
        if (!scan_integer(p, (size_t)(gt - p), &ev->old, &old_neg))
            goto no_value;
        n -= (size_t)(gt + 1 - p);
        p = gt + 1;
    }
    if (!scan_integer(p, n, &ev->value, &neg))
        goto no_value;
    if (gt && neg != old_neg && (int64_t)(neg ? ev->old : ev->value) < 0)
        return error_set(err, "value out of range beside a negative one in %s",
                         quote_text(eq, (size_t)(a->text + a->len - eq)));
    ev->flags |= (uint16_t)(EV_VALUE | (gt ? EV_OLD : 0) | (neg || old_neg ? EV_SIGNED : 0));
    a->len = (size_t)(eq - a->text);
    return 0;

no_value:
    ev->value = ev->old = 0;
    return 0;
}

/* r w load store rmw: NAME or 0xHEX:SIZE, then perhaps a value. */
static int parse_access(struct std *s, struct event *ev, struct arg a, bool has_equals,
                        struct error *err)
{
    uint64_t size;

    if (has_equals && take_value(&a, ev, err))
        return -1;
    if (scan_range(a.text, a.len, &ev->target, &size)) {
        ev->size = (uint32_t)size;
        return size <= ACCESS_MAX_BYTES
                   ? 0
                   : error_set(err, "access of %" PRIu64 " bytes, at most %" PRIu64, size,
                               ACCESS_MAX_BYTES);
    }
    ev->target =
        NAMED_ADDRESS(name_number(&s->variables, &s->base.tables->variables, a.text, a.len));
    ev->size = 8;
    return 0;
}

/* alloc, free: the bytes are the event's value. */
static int parse_memory(struct std *s, struct event *ev, struct arg a, struct error *err)
{
    const char *eq = memrchr(a.text, '=', a.len);
    uint64_t value;
    bool negative;

    if (scan_range(a.text, a.len, &ev->target, &ev->value))
        return 0;
    if (ev->op == OP_FREE && scan_unsized(a.text, a.len, &ev->target)) {
        ev->value = 0;
        return 0;
    }
    if (eq && scan_integer(eq + 1, (size_t)(a.text + a.len - eq - 1), &value, &negative))
        return error_set(err, "%s takes no value, found %s", op_table[ev->op].text,
                         quote_text(a.text, a.len));
    ev->target =
        NAMED_ADDRESS(name_number(&s->variables, &s->base.tables->variables, a.text, a.len));
    ev->value = 8;
    return 0;
}

static int parse_object(struct std *s, struct event *ev, struct arg a)
{
    if (!scan_hex(a.text, a.len, &ev->target) || ev->target >= ADDRESS_LIMIT)
        ev->target =
            NAMED_OBJECT(name_number(&s->objects, &s->base.tables->objects, a.text, a.len));
    return 0;
}

/* "T" and digits. */
static bool is_t_number(const char *p, size_t n)
{
    if (n < 2 || *p != 'T')
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_digit(p[i]))
            return false;
    return true;
}

/* fork, join. Published files write fork(155) for thread T155: read it so where the line's own
 * thread is named that way and no thread 155 is known. */
static int parse_thread(struct std *s, struct event *ev, struct arg a, const struct fields *f)
{
    struct intern *threads = &s->base.tables->threads;
    char name[24];
    uint32_t id;

    if (a.len < sizeof(name) - 1 && is_digit(*a.text) && is_t_number(f->thread, f->nthread)) {
        name[0] = 'T';
        memcpy(name + 1, a.text, a.len);
        if (is_t_number(name, a.len + 1) &&
            !name_is_known(&s->threads, threads, a.text, a.len, &id)) {
            ev->flags = EV_BARE;
            ev->target = name_number_slow(&s->threads, threads, name, a.len + 1);
            return 0;
        }
    }
    ev->target = name_number(&s->threads, threads, a.text, a.len);
    return 0;
}

static uint32_t function_number(struct std *s, const char *p, size_t n)
{
    return name_number(&s->functions, &s->base.tables->functions, p, n);
}

/* One entry of a call's D. */
static void std_add_entry(struct std *s, const char *p, size_t n)
{
    enum d_kind kind;
    const char *name;
    size_t len;
    uint64_t *e;
    uint32_t id;

    GROW(s->extra, s->extra_cap, s->nextra + 2);
    e = s->extra + s->nextra;
    s->nextra += 2;
    kind = scan_entry(p, n, e, &name, &len);
    if (kind == D_START_KIND)
        e[0] = name_number(&s->threads, &s->base.tables->threads, name, len);
    else if (kind == D_SYNC_KIND)
        e[0] = name_number(&s->objects, &s->base.tables->objects, name, len);
    if (kind != D_MEMORY_KIND) {
        e[0] = D_ENTRY(kind, e[0]);
        return;
    }
    if (scan_range(p, n, &e[0], &e[1]))
        return;
    if (!name_is_known(&s->variables, &s->base.tables->variables, p, n, &id) &&
        name_is_known(&s->threads, &s->base.tables->threads, p, n, &id)) {
        e[0] = D_THREAD(id);
        e[1] = 0;
        return;
    }
    e[0] = NAMED_ADDRESS(name_number(&s->variables, &s->base.tables->variables, p, n));
    e[1] = 8;
}

/* The end of the function's name: the first ':' that is not half of a "::". */
static size_t function_end(struct arg a)
{
    size_t i = 0;

    while (i < a.len && a.text[i] != ':') {
        i++;
        while (i + 1 < a.len && a.text[i] == ':' && a.text[i + 1] == ':')
            i += 2;
    }
    return i;
}

/* call(f) or call(f:V1,V2). */
static int parse_call(struct std *s, struct event *ev, struct arg a, struct error *err)
{
    size_t n = function_end(a);
    const char *p = a.text + n, *end = a.text + a.len;

    if (!n || p + 1 == end)
        return error_set(err, "empty name in call(%.*s)", (int)(a.len < 60 ? a.len : 60), a.text);
    ev->target = function_number(s, a.text, n);
    ev->value = s->nextra;
    while (p < end) { /* at the ':' or a ',' */
        const char *comma = memchr(p + 1, ',', (size_t)(end - p - 1));
        const char *stop = comma ? comma : end;

        if (stop == p + 1 || comma == end - 1)
            return error_set(err, "empty name in call(%.*s)", (int)(a.len < 60 ? a.len : 60),
                             a.text);
        std_add_entry(s, p + 1, (size_t)(stop - p - 1));
        ev->old++;
        p = stop;
    }
    s->base.info->calls = true;
    return 0;
}

/* link(0xADDRESS=0xPOINTER), object(0xADDRESS:BYTES). */
static int parse_link(struct event *ev, struct arg a, struct error *err)
{
    bool link = ev->op == OP_LINK;

    if (link ? scan_link(a.text, a.len, &ev->target, &ev->value)
             : scan_range(a.text, a.len, &ev->target, &ev->value))
        return 0;
    return error_set(err, "%s needs %s, found %s", op_table[ev->op].text,
                     link ? "0xADDRESS=0xPOINTER" : "0xADDRESS:BYTES", quote_text(a.text, a.len));
}

/* branch, branch(OUTCOME), result(VALUE). */
static int parse_branch(struct std *s, struct event *ev, struct arg a, struct error *err)
{
    bool negative;

    s->base.info->branches |= ev->op == OP_BRANCH;
    if (!a.text)
        return 0;
    if (!scan_integer(a.text, a.len, &ev->value, &negative))
        return error_set(err, "bad branch outcome %s", quote_text(a.text, a.len));
    ev->flags = (uint16_t)(EV_VALUE | (negative ? EV_SIGNED : 0));
    return 0;
}

static int find_order(const char *p, size_t n)
{
    for (int i = ORDER_RELAXED; i < ORDER_COUNT; i++)
        if (strlen(order_names[i]) == n && !memcmp(order_names[i], p, n))
            return i;
    return ORDER_NONE;
}

static int find_op(const char *p, size_t n)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (op_table[i].name && strlen(op_table[i].text) == n && !memcmp(op_table[i].text, p, n))
            return i;
    return 0;
}

static bool takes_order(int op)
{
    return op_is_atomic((unsigned)op) || op == OP_FENCE;
}

enum {
    BARE = 1 << 16,
    LOOSE = 1 << 17
}; /* with an operation: tacq, tacqs, seminit; r~, rmw~.rlx */

/* An acquire that would not have waited. */
static bool is_tried(const char *p, size_t n)
{
    int op = n > 1 && *p == 't' ? find_op(p + 1, n - 1) : 0;

    return op == OP_ACQUIRE || op == OP_ACQUIRE_SHARED;
}

/* A word of its own for a post that is none. */
static bool is_seminit(const char *p, size_t n)
{
    return n == strlen(TEXT_SEMINIT) && !memcmp(p, TEXT_SEMINIT, n);
}

/* The operation and order that "load.acq" names, as op | order << 8, perhaps | BARE or LOOSE; 0
 * and an error. */
static unsigned find_operation(const char *p, size_t n, struct error *err)
{
    const char *dot = memchr(p, '.', n);
    size_t nop = dot ? (size_t)(dot - p) : n;
    bool loose = nop > 1 && p[nop - 1] == '~';
    int op = find_op(p, nop - loose), order = ORDER_NONE;

    if (is_tried(p, n))
        return (unsigned)find_op(p + 1, n - 1) | BARE;
    if (is_seminit(p, n))
        return OP_SEM_POST | BARE;
    if (!op || (dot && !takes_order(op)) || (loose && !op_is_access((unsigned)op))) {
        error_set(err, "unknown operation %s", quote_text(p, n));
        return 0;
    }
    if (takes_order(op)) {
        order = dot ? find_order(dot + 1, n - nop - 1) : ORDER_NONE;
        if (!order) {
            error_set(err, "%s needs a memory order (rlx con acq rel ar sc), found %s",
                      op_table[op].text, quote_text(p, n));
            return 0;
        }
    }
    return (unsigned)(op | order << 8 | (loose ? LOOSE : 0));
}

/* The same through a cache: a trace uses few of them. */
static unsigned lookup_operation(struct std *s, const char *p, size_t n, struct error *err)
{
    struct name_entry key, *e;

    if (!n || n > 16)
        return find_operation(p, n, err);
    e = name_cache_slot(&s->ops, p, n, &key);
    if (!name_entry_is(e, &key)) {
        key.id = find_operation(p, n, err);
        if (!key.id)
            return 0;
        *e = key;
    }
    return e->id;
}

static bool needs_argument(unsigned op)
{
    return op != OP_BEGIN && op != OP_END && op_class_of(op) != CLASS_BRANCH && op != OP_FENCE;
}

/* Check the parentheses; a.text stays NULL where there are none. */
static int find_argument(const struct fields *f, unsigned op, struct arg *a, struct error *err)
{
    const char *name = op_table[op].text;

    *a = (struct arg){ NULL, 0 };
    if (f->open == f->nop)
        return needs_argument(op) ? error_set(err, "%s needs an argument in parentheses", name) : 0;
    if (f->op[f->nop - 1] != ')')
        return error_set(err, "no ')' at the end of %s", quote_text(f->op, f->nop));
    *a = (struct arg){ f->op + f->open + 1, f->nop - f->open - 2 };
    if (op == OP_FENCE)
        return a->len ? error_set(err, "%s takes no argument, found %s", name,
                                  quote_text(f->op, f->nop))
                      : 0;
    if (!a->len)
        return error_set(err, "empty argument in %s", quote_text(f->op, f->nop));
    return 0;
}

/* All operations but r and w, whose short cut is in parse_fields(). */
static int parse_operation(struct std *s, struct event *ev, const struct fields *f,
                           struct error *err)
{
    unsigned found = lookup_operation(s, f->op, f->open, err);
    struct arg a;

    if (!found || find_argument(f, found & 0xff, &a, err))
        return -1;
    ev->op = (uint8_t)(found & 0xff);
    ev->order = (uint8_t)(found >> 8);
    if (found & BARE)
        ev->flags = EV_BARE;
    if (found & LOOSE)
        ev->flags = EV_LOOSE;
    switch (op_class_of(ev->op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
        return parse_access(s, ev, a, f->has_equals, err);
    case CLASS_MEMORY:
        return parse_memory(s, ev, a, err);
    case CLASS_LINK:
        return parse_link(ev, a, err);
    case CLASS_THREAD:
        if (ev->op == OP_FORK || ev->op == OP_JOIN)
            return parse_thread(s, ev, a, f);
        if (a.len == f->nthread && !memcmp(a.text, f->thread, a.len))
            ev->flags = EV_BARE;
        return 0; /* other arguments say nothing either; RAPID allows them */
    case CLASS_CALL:
        if (ev->op == OP_CALL)
            return parse_call(s, ev, a, err);
        /* fall through */
    case CLASS_STACK:
        ev->target = function_number(s, a.text, a.len);
        return 0;
    case CLASS_BRANCH:
        return parse_branch(s, ev, a, err);
    case CLASS_FENCE:
        return 0;
    default:
        return parse_object(s, ev, a);
    }
}

static int parse_fields(struct std *s, struct event *ev, const struct fields *f, struct error *err)
{
    int r;

    *ev = (struct event){ 0 };
    ev->thread = name_number(&s->threads, &s->base.tables->threads, f->thread, f->nthread);
    ev->site = name_number(&s->sites, &s->base.tables->sites, f->loc, f->nloc);
    if (f->open == 1 && f->nop > 3 && f->op[f->nop - 1] == ')' &&
        (f->op[0] == 'r' || f->op[0] == 'w')) {
        ev->op = f->op[0] == 'r' ? OP_READ : OP_WRITE;
        r = parse_access(s, ev, (struct arg){ f->op + 2, f->nop - 3 }, f->has_equals, err);
    } else {
        r = parse_operation(s, ev, f, err);
    }
    s->flags |= ev->flags;
    return r;
}

/* Split an ordinary line at p by its bit masks. Returns the bytes used, 0 where the careful way
 * must be taken. */
static size_t split_fast(const char *p, const char *end, struct fields *f)
{
    struct scan m = scan_line(p);
    uint64_t bars, second, line;
    unsigned n, b1, b2;

    if (!m.stops)
        return 0;
    n = (unsigned)__builtin_ctzll(m.stops);
    line = ((uint64_t)1 << n) - 1;
    bars = m.bars & line;
    second = bars & (bars - 1);
    if (!second || (second & (second - 1)) || *p == '#' || p + n + 1 >= end)
        return 0;
    b1 = (unsigned)__builtin_ctzll(bars);
    b2 = (unsigned)__builtin_ctzll(second);
    if (!b1 || b2 + 1 == n || (p[n] != '\n' && (p[n] != '\r' || p[n + 1] != '\n')))
        return 0;
    line = (((uint64_t)1 << b2) - 1) >> (b1 + 1); /* now the operation's bytes */
    m.opens = (m.opens >> (b1 + 1)) & line;
    *f = (struct fields){
        .thread = p,
        .nthread = b1,
        .op = p + b1 + 1,
        .nop = b2 - b1 - 1,
        .loc = p + b2 + 1,
        .nloc = n - b2 - 1,
        .has_equals = (m.equals >> (b1 + 1)) & line,
    };
    f->open = m.opens ? (size_t)__builtin_ctzll(m.opens) : f->nop;
    return n + (p[n] == '\r' ? 2 : 1);
}

/* Split any line, with an error for what is not one. */
static int split_carefully(const char *p, size_t n, struct fields *f, struct error *err)
{
    const char *b1 = memchr(p, '|', n), *b2, *open;

    for (size_t i = 0; i < n; i++)
        if (p[i] == ' ' || p[i] == '\t')
            return error_set(err, "blank in %s", quote_text(p, n));
    b2 = b1 ? memchr(b1 + 1, '|', (size_t)(p + n - b1 - 1)) : NULL;
    if (!b2 || memchr(b2 + 1, '|', (size_t)(p + n - b2 - 1)))
        return error_set(err, "expected thread|operation|location, found %s", quote_text(p, n));
    if (b1 == p)
        return error_set(err, "empty thread name in %s", quote_text(p, n));
    if (b2 + 1 == p + n)
        return error_set(err, "empty location in %s", quote_text(p, n));
    *f = (struct fields){ .thread = p,
                          .op = b1 + 1,
                          .loc = b2 + 1,
                          .nthread = (size_t)(b1 - p),
                          .nop = (size_t)(b2 - b1 - 1),
                          .nloc = (size_t)(p + n - b2 - 1),
                          .has_equals = true };
    open = memchr(f->op, '(', f->nop);
    f->open = open ? (size_t)(open - f->op) : f->nop;
    return 0;
}

/* The next event by the careful way: 1, 0 at the end, -1. */
static int next_carefully(struct std *s, struct event *ev, struct error *err)
{
    const char *text;
    struct fields f;
    size_t n;
    int r = lines_next_text(&s->lines, &text, &n, err);

    if (r <= 0)
        return r;
    if (split_carefully(text, n, &f, err) || parse_fields(s, ev, &f, err))
        return lines_error(&s->lines, err);
    return 1;
}

/* Fill the batch; -1 on an error. Fewer events than asked for means the end. */
static int fill_batch(struct std *s, struct error *err)
{
    struct lines *l = &s->lines;
    int r = 1;

    s->count = 0;
    s->nextra = 0;
    while (r > 0 && s->count < BATCH_EVENTS && s->nextra < BATCH_EXTRA) {
        struct event *ev = &s->events[s->count];
        struct fields f;
        size_t used = l->p < l->end && l->number ? split_fast(l->p, l->end, &f) : 0;

        if (used) {
            l->p += used;
            l->number++;
            if (parse_fields(s, ev, &f, err))
                return lines_error(l, err);
        } else {
            r = next_carefully(s, ev, err);
        }
        s->count += r > 0;
    }
    return r < 0 ? -1 : 0;
}

static int std_next(struct source *base, struct batch *out, struct error *err)
{
    struct std *s = (struct std *)base;
    struct trace_info *info = base->info;

    if (fill_batch(s, err))
        return -1;
    *out = (struct batch){ s->events, s->count, s->position, s->extra };
    s->position += s->count;
    info->values |= (s->flags & EV_VALUE) != 0;
    info->loose |= (s->flags & EV_LOOSE) != 0;
    info->bytes_read = input_consumed(s->lines.in);
    return s->count > 0;
}

static int std_rewind(struct source *base, struct error *err)
{
    struct std *s = (struct std *)base;

    name_cache_clear(&s->threads);
    name_cache_clear(&s->variables);
    s->position = 0;
    return lines_rewind(&s->lines, err);
}

static void std_close(struct source *base)
{
    struct std *s = (struct std *)base;

    lines_release(&s->lines);
    name_cache_release(&s->threads);
    name_cache_release(&s->variables);
    name_cache_release(&s->objects);
    name_cache_release(&s->functions);
    name_cache_release(&s->sites);
    name_cache_release(&s->ops);
    free(s->events);
    free(s->extra);
    free(s);
}

static const struct source_ops std_ops = {
    .format = "std",
    .next = std_next,
    .rewind = std_rewind,
    .close = std_close,
};

struct source *std_open(struct input *in, struct tables *t, struct trace_info *i, struct error *err)
{
    struct std *s = xcalloc(1, sizeof(*s));

    (void)err; /* nothing can fail before the first line */
    s->base = (struct source){ &std_ops, t, i };
    lines_init(&s->lines, in);
    name_cache_init(&s->threads, 10);
    name_cache_init(&s->variables, 14);
    name_cache_init(&s->objects, 12);
    name_cache_init(&s->functions, 10);
    name_cache_init(&s->sites, 14);
    name_cache_init(&s->ops, 8);
    s->events = xcalloc(BATCH_EVENTS, sizeof(*s->events));
    i->format = std_ops.format;
    i->order = TRACE_EXACT;
    i->bytes_total = input_size(in);
    return &s->base;
}
