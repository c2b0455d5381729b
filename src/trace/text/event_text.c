/* event_text.c - events as lines of the text trace
 *
 * What comes out is canonical: reading it gives the event back. Names that
 * come from a text trace are printed as they are. Names from elsewhere may
 * hold bytes that the grammar gives a meaning; those bytes become %XX.
 */
#include "trace/text/event_text.h"
#include "trace/text/entries.h"

#include <stdio.h>

static void add_decimal(struct buf *b, uint64_t v, bool is_signed)
{
    char digits[24], *p = digits + sizeof(digits);
    bool negative = is_signed && (int64_t)v < 0;

    if (negative)
        v = -v;
    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    if (negative)
        *--p = '-';
    buf_add(b, p, (size_t)(digits + sizeof(digits) - p));
}

static void add_hex(struct buf *b, uint64_t v)
{
    char digits[24], *p = digits + sizeof(digits);

    do
        *--p = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    *--p = 'x';
    *--p = '0';
    buf_add(b, p, (size_t)(digits + sizeof(digits) - p));
}

static void add_escaped(struct buf *b, char c)
{
    char hex[4];

    snprintf(hex, sizeof(hex), "%%%02X", (unsigned char)c);
    buf_add(b, hex, 3);
}

/* Blanks, control characters and bars never stand in a name; `also` lists more. */
static void text_add_name(struct buf *b, const char *name, const char *also)
{
    const char *start = name, *p;

    if (!*name)
        buf_addch(b, '?'); /* the grammar has no empty names */
    for (p = name; *p; p++) {
        if ((unsigned char)*p > 0x20 && *p != '|' && *p != 0x7f && !(also && strchr(also, *p)))
            continue;
        buf_add(b, start, (size_t)(p - start));
        add_escaped(b, *p);
        start = p + 1;
    }
    buf_add(b, start, (size_t)(p - start));
}

/* A name that ends in what the reader takes for a value of this operation. */
static bool ends_in_value(const char *name, unsigned op)
{
    const char *eq = strrchr(name, '='), *gt;
    uint64_t v;
    bool negative;

    if (!eq || eq == name)
        return false;
    gt = op == OP_RMW ? strchr(eq, '>') : NULL;
    if (gt && !scan_integer(eq + 1, (size_t)(gt - eq - 1), &v, &negative))
        return false;
    eq = gt ? gt : eq;
    return scan_integer(eq + 1, strlen(eq + 1), &v, &negative);
}

/* The name of a variable in the list of a call. */
static void add_listed(struct buf *b, const char *name)
{
    uint64_t words[2];
    const char *inner;
    size_t len;
    enum d_kind kind = scan_entry(name, strlen(name), words, &inner, &len);

    text_add_name(b, name, kind == D_ALL_KIND ? ",*" : kind != D_MEMORY_KIND ? ",(" : ",");
}

/* The name of a variable; ev is NULL in the list of a call. */
static void add_variable(struct buf *b, const char *name, const struct event *ev)
{
    bool hide_equals =
        ev && !(op_is_access(ev->op) && ev->flags & EV_VALUE) && ends_in_value(name, ev->op);
    uint64_t address, size;

    if (*name == '0' && (scan_range(name, strlen(name), &address, &size) ||
                         (ev && ev->op == OP_FREE && scan_unsized(name, strlen(name), &address))))
        add_escaped(b, *name++);
    if (ev)
        text_add_name(b, name, hide_equals ? "=" : NULL);
    else
        add_listed(b, name);
}

static void add_thread(struct buf *b, const struct tables *t, uint64_t thread)
{
    if (thread < t->threads.count)
        text_add_name(b, intern_get(&t->threads, (uint32_t)thread), NULL);
    else
        buf_addf(b, "T%llu", (unsigned long long)thread);
}

static void add_memory(struct buf *b, const struct tables *t, uint64_t address, uint64_t size,
                       const struct event *ev)
{
    if (is_named(address) && named_variable(address) < t->variables.count) {
        add_variable(b, intern_get(&t->variables, named_variable(address)), ev);
        return;
    }
    add_hex(b, address);
    buf_addch(b, ':');
    add_decimal(b, size, false);
}

/* An object's name cannot carry a value, only be taken for an address. */
static void add_object(struct buf *b, const struct tables *t, uint64_t target)
{
    const char *name;
    uint64_t address;

    if (!is_named(target) || named_object(target) >= t->objects.count) {
        add_hex(b, target);
        return;
    }
    name = intern_get(&t->objects, named_object(target));
    if (scan_hex(name, strlen(name), &address) && address < ADDRESS_LIMIT) {
        add_escaped(b, '0');
        name++;
    }
    text_add_name(b, name, NULL);
}

/* A single ':' would end the name in a call; "::" does not. */
static bool has_single_colon(const char *name)
{
    if (*name == ':')
        return true;
    for (; *name; name++) {
        while (name[0] == ':' && name[1] == ':')
            name += 2;
        if (*name == ':')
            return true;
        if (!*name)
            break;
    }
    return false;
}

static void add_function(struct buf *b, const struct tables *t, uint64_t function)
{
    const char *name =
        function < t->functions.count ? intern_get(&t->functions, (uint32_t)function) : "?";

    text_add_name(b, name, has_single_colon(name) ? ":" : NULL);
}

/* Threads and objects in a list: no comma in their names. */
static void add_listed_name(struct buf *b, const struct intern *names, uint64_t number)
{
    if (number < names->count)
        text_add_name(b, intern_get(names, (uint32_t)number), ",");
    else
        buf_addf(b, "?%llu", (unsigned long long)number);
}

/* What stands in the parentheses behind an entry's word. */
static void add_entry_argument(struct buf *b, const uint64_t *e, const struct tables *t)
{
    enum d_kind kind = D_KIND(e[0]);

    if (kind == D_START_KIND || kind == D_SYNC_KIND) {
        add_listed_name(b, kind == D_SYNC_KIND ? &t->objects : &t->threads, D_LOW(e[0]));
        return;
    }
    add_hex(b, D_LOW(e[0]));
    if (kind == D_EXTENT_KIND) {
        buf_addch(b, ':');
        add_decimal(b, e[1], false);
    } else if (kind == D_SLOT_KIND) {
        buf_addch(b, '=');
        add_hex(b, e[1]);
    }
}

static void text_add_entry(struct buf *b, const uint64_t *e, const struct tables *t)
{
    enum d_kind kind = D_KIND(e[0]);

    if (kind == D_MEMORY_KIND) {
        add_memory(b, t, e[0], e[1], NULL);
    } else if (kind == D_THREAD_KIND) {
        add_listed_name(b, &t->threads, D_LOW(e[0]));
    } else if (kind == D_ALL_KIND) {
        buf_addch(b, '*');
    } else {
        buf_addstr(b, entry_words[kind]);
        buf_addch(b, '(');
        add_entry_argument(b, e, t);
        buf_addch(b, ')');
    }
}

static void add_call(struct buf *b, const struct event *ev, const uint64_t *extra,
                     const struct tables *t)
{
    add_function(b, t, ev->target);
    for (uint64_t i = 0; i < ev->old; i++) {
        buf_addch(b, i ? ',' : ':');
        text_add_entry(b, extra + ev->value + 2 * i, t);
    }
}

static void add_value(struct buf *b, const struct event *ev)
{
    if (!(ev->flags & EV_VALUE))
        return;
    buf_addch(b, '=');
    if (ev->flags & EV_OLD) {
        add_decimal(b, ev->old, ev->flags & EV_SIGNED);
        buf_addch(b, '>');
    }
    add_decimal(b, ev->value, ev->flags & EV_SIGNED);
}

/* fork(7) for thread T7 where the trace said it so. */
static void add_child(struct buf *b, const struct event *ev, const struct tables *t)
{
    const char *name = NULL;

    if ((ev->flags & EV_BARE) && ev->target < t->threads.count)
        name = intern_get(&t->threads, (uint32_t)ev->target);
    if (name && *name == 'T' && name[1])
        text_add_name(b, name + 1, NULL);
    else
        add_thread(b, t, ev->target);
}

static void add_argument(struct buf *b, const struct event *ev, const uint64_t *extra,
                         const struct tables *t)
{
    switch (op_class_of(ev->op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
        add_memory(b, t, ev->target, ev->size, ev);
        add_value(b, ev);
        break;
    case CLASS_MEMORY:
        add_memory(b, t, ev->target, ev->value, ev);
        break;
    case CLASS_LINK:
        add_hex(b, ev->target);
        buf_addch(b, ev->op == OP_LINK ? '=' : ':');
        if (ev->op == OP_LINK)
            add_hex(b, ev->value);
        else
            add_decimal(b, ev->value, false);
        break;
    case CLASS_THREAD:
        if (ev->op == OP_FORK || ev->op == OP_JOIN)
            add_child(b, ev, t);
        else
            add_thread(b, t, ev->thread);
        break;
    case CLASS_CALL:
    case CLASS_STACK:
        if (ev->op == OP_CALL)
            add_call(b, ev, extra, t);
        else
            add_function(b, t, ev->target);
        break;
    case CLASS_BRANCH:
        add_decimal(b, ev->value, ev->flags & EV_SIGNED);
        break;
    default:
        add_object(b, t, ev->target);
    }
}

static bool has_argument(const struct event *ev)
{
    if (ev->op == OP_BRANCH || ev->op == OP_RESULT)
        return ev->flags & EV_VALUE;
    if (ev->op == OP_BEGIN || ev->op == OP_END)
        return ev->flags & EV_BARE;
    return ev->op != OP_FENCE;
}

void text_operation(struct buf *b, const struct event *ev, const uint64_t *extra,
                    const struct tables *t)
{
    if (ev->flags & EV_BARE && (ev->op == OP_ACQUIRE || ev->op == OP_ACQUIRE_SHARED))
        buf_addch(b, 't'); /* by trylock, or with a time limit */
    buf_addstr(b, event_begins_semaphore(ev) ? TEXT_SEMINIT : op_table[ev->op].text);
    if (ev->flags & EV_LOOSE)
        buf_addch(b, '~');
    if (ev->order) {
        buf_addch(b, '.');
        buf_addstr(b, order_names[ev->order]);
    }
    if (!has_argument(ev))
        return;
    buf_addch(b, '(');
    add_argument(b, ev, extra, t);
    buf_addch(b, ')');
}

void text_event(struct buf *b, const struct event *ev, const uint64_t *extra,
                const struct tables *t)
{
    add_thread(b, t, ev->thread);
    buf_addch(b, '|');
    text_operation(b, ev, extra, t);
    buf_addch(b, '|');
    text_add_name(b, tables_location(t, ev->site), NULL);
    buf_addch(b, '\n');
}
