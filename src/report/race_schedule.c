/* race_schedule.c - the file race.schedule, both ways
 *
 * One table for each keyword says which fields its lines may have, so that what is written is what
 * is read. A field that nobody knows is an error: what it asks for would be ignored.
 */
#include "report/race_schedule.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "trace/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MOST = 4 << 20 };

void race_schedule_release(struct race_schedule *s)
{
    free(s->threads);
    free(s->events);
    free(s->orders);
    arena_release(&s->strings);
    *s = (struct race_schedule){ 0 };
}

/* ---- fields ---- */

enum kind { TEXT, NUMBER, THREAD, EVENT, OP };
struct field {
    const char *name;
    enum kind kind;
    size_t at;
    bool needed;
};

#define PLACE(type)                                                                                \
    { "function", TEXT, offsetof(type, place.function), false },                                   \
        { "caller", TEXT, offsetof(type, place.caller), false },                                   \
        { "variable", TEXT, offsetof(type, place.variable), false },                               \
        { "file", TEXT, offsetof(type, place.file), false },                                       \
        { "line", NUMBER, offsetof(type, place.line), false },                                     \
        { "column", NUMBER, offsetof(type, place.column), false },                                 \
        { "nth", NUMBER, offsetof(type, place.nth), false },                                       \
        { "of", NUMBER, offsetof(type, place.of), false },                                         \
    {                                                                                              \
        NULL, TEXT, 0, false                                                                       \
    }

static const struct field race_fields[] = {
    { "id", TEXT, offsetof(struct race_schedule, id), false },
    { "variable", TEXT, offsetof(struct race_schedule, variable), false },
    { "strength", TEXT, offsetof(struct race_schedule, strength), false },
    { "program", TEXT, offsetof(struct race_schedule, program), false },
    { "met", TEXT, offsetof(struct race_schedule, met), false },
    { NULL, TEXT, 0, false },
};
static const struct field run_fields[] = {
    { "forked", NUMBER, offsetof(struct race_schedule, forked), false },
    { "patient", NUMBER, offsetof(struct race_schedule, patient), false },
    { "hasty", NUMBER, offsetof(struct race_schedule, hasty), false },
    { "waits", NUMBER, offsetof(struct race_schedule, waits), false },
    { NULL, TEXT, 0, false },
};
static const struct field thread_fields[] = {
    { "by", THREAD, offsetof(struct schedule_thread, by), false },
    { "number", NUMBER, offsetof(struct schedule_thread, number), false },
    { NULL, TEXT, 0, false },
};
static const struct field event_fields[] = {
    { "thread", THREAD, offsetof(struct schedule_event, thread), true },
    { "op", OP, offsetof(struct schedule_event, op), true },
    { "number", NUMBER, offsetof(struct schedule_event, number), true },
    PLACE(struct schedule_event),
};
static const struct field access_fields[] = {
    { "thread", THREAD, offsetof(struct schedule_access, thread), false },
    { "op", OP, offsetof(struct schedule_access, op), true },
    { "bytes", NUMBER, offsetof(struct schedule_access, bytes), false },
    { "after", EVENT, offsetof(struct schedule_access, after), false },
    PLACE(struct schedule_access),
};
static const struct field memory_fields[] = {
    { "variable", TEXT, offsetof(struct schedule_memory, variable), false },
    { "image", TEXT, offsetof(struct schedule_memory, image), false },
    { "block", EVENT, offsetof(struct schedule_memory, block), false },
    { "stack", EVENT, offsetof(struct schedule_memory, stack), false },
    { "offset", NUMBER, offsetof(struct schedule_memory, offset), false },
    { "bytes", NUMBER, offsetof(struct schedule_memory, bytes), true },
    { NULL, TEXT, 0, false },
};
static const struct field order_fields[] = {
    { "event", EVENT, offsetof(struct schedule_order, event), true },
    { "after", EVENT, offsetof(struct schedule_order, after), true },
    { NULL, TEXT, 0, false },
};

/* What a number is that no field gives. */
static uint64_t absent(enum kind k)
{
    return k == THREAD || k == EVENT ? SCHEDULE_NONE : 0;
}

/* ---- writing ---- */

/* Blanks separate fields. */
static void write_text(const char *s, FILE *out)
{
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || *s == '%' || *s == 0x7f)
            fprintf(out, "%%%02X", (unsigned char)*s);
        else
            fputc(*s, out);
}

static void write_number(enum kind k, uint64_t v, FILE *out)
{
    if (k == OP)
        fputs(op_is_known((unsigned)v) ? op_table[v].name : "?", out);
    else
        fprintf(out, "%s%" PRIu64, k == THREAD ? "T" : k == EVENT ? "E" : "", v);
}

static void write_fields(const struct field *f, const void *of, FILE *out)
{
    for (; f->name; f++) {
        const char *at = (const char *)of + f->at;
        const char *text;
        uint64_t number;

        if (f->kind == TEXT) {
            memcpy(&text, at, sizeof(text));
            if (!text || !*text)
                continue;
            fprintf(out, " %s=", f->name);
            write_text(text, out);
            continue;
        }
        memcpy(&number, at, sizeof(number));
        if (number == absent(f->kind) && !f->needed)
            continue;
        fprintf(out, " %s=", f->name);
        write_number(f->kind, number, out);
    }
    fputc('\n', out);
}

void race_schedule_write(const struct race_schedule *s, FILE *out)
{
    fprintf(out,
            SCHEDULE_MAGIC
            " %d\n"
            "# How a race was made to happen: heddle replay THIS -- PROGRAM ARGS...\n"
            "race",
            SCHEDULE_VERSION);
    write_fields(race_fields, s, out);
    if (s->forked || s->patient || s->hasty || s->waits) {
        fputs("run", out);
        write_fields(run_fields, s, out);
    }
    for (size_t i = 0; i < s->nthreads; i++) {
        fprintf(out, "thread T%zu", i);
        write_fields(thread_fields, &s->threads[i], out);
    }
    for (size_t i = 0; i < s->nevents; i++) {
        fprintf(out, "event E%zu", i);
        write_fields(event_fields, &s->events[i], out);
    }
    for (size_t i = 0; i < s->naccesses; i++) {
        fputs("access", out);
        write_fields(access_fields, &s->access[i], out);
    }
    if (s->memory.bytes) {
        fputs("memory", out);
        write_fields(memory_fields, &s->memory, out);
    }
    for (size_t i = 0; i < s->norders; i++) {
        fputs("order", out);
        write_fields(order_fields, &s->orders[i], out);
    }
}

/* ---- reading ---- */

struct parser {
    struct race_schedule *s;
    struct error *err;
    const char *next, *end; /* of the line: words are taken from it */
    size_t line;
    bool race, run, memory; /* that line was there */
    char *word;             /* in the schedule's memory */
};

static bool take_word(struct parser *p)
{
    const char *start;

    while (p->next < p->end && (*p->next == ' ' || *p->next == '\t'))
        p->next++;
    start = p->next;
    while (p->next < p->end && *p->next != ' ' && *p->next != '\t')
        p->next++;
    if (p->next == start)
        return false;
    p->word = arena_strndup(&p->s->strings, start, (size_t)(p->next - start));
    return true;
}

static bool number_of(const char *s, uint64_t *v)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    errno = 0;
    *v = strtoull(s, &end, 10);
    return !*end && !errno && *v != SCHEDULE_NONE;
}

/* "T3": the third; it must be there already. */
static bool reference_of(const char *s, char letter, size_t n, uint64_t *v)
{
    return *s == letter && number_of(s + 1, v) && *v < n;
}

static bool op_of(const char *s, uint64_t *v)
{
    for (*v = 1; *v < OP_COUNT; ++*v)
        if (op_is_known((unsigned)*v) && strcmp(op_table[*v].name, s) == 0)
            return true;
    return false;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place: it gets shorter. */
static bool decode(char *s)
{
    char *to = s;

    for (; *s; s++) {
        if (*s != '%') {
            *to++ = *s;
            continue;
        }
        if (hex(s[1]) < 0 || hex(s[2]) < 0 || !(hex(s[1]) | hex(s[2])))
            return false;
        *to++ = (char)(hex(s[1]) << 4 | hex(s[2]));
        s += 2;
    }
    *to = 0;
    return true;
}

static bool value_of(const struct parser *p, const struct field *f, char *text, uint64_t *number)
{
    switch (f->kind) {
    case TEXT:
        return *text && decode(text);
    case NUMBER:
        return number_of(text, number);
    case THREAD:
        return reference_of(text, 'T', p->s->nthreads, number);
    case EVENT:
        return reference_of(text, 'E', p->s->nevents, number);
    default:
        return op_of(text, number);
    }
}

static int take_field(struct parser *p, const struct field *fields, void *into, uint32_t *seen)
{
    char *equals = strchr(p->word, '=');
    uint64_t number = 0;
    unsigned i = 0;

    if (!equals)
        return error_set(p->err, "line %zu: expected NAME=VALUE, not '%s'", p->line, p->word);
    *equals = 0;
    while (fields[i].name && strcmp(fields[i].name, p->word) != 0)
        i++;
    if (!fields[i].name)
        return error_set(p->err, "line %zu: no such field: '%s'", p->line, p->word);
    if (*seen >> i & 1)
        return error_set(p->err, "line %zu: '%s' is there twice", p->line, p->word);
    *seen |= 1u << i;
    if (!value_of(p, &fields[i], equals + 1, &number))
        return error_set(p->err, "line %zu: bad value of '%s': '%s'", p->line, p->word, equals + 1);
    if (fields[i].kind == TEXT) {
        char *text = equals + 1;

        memcpy((char *)into + fields[i].at, &text, sizeof(text));
    } else {
        memcpy((char *)into + fields[i].at, &number, sizeof(number));
    }
    return 0;
}

static int take_fields(struct parser *p, const struct field *fields, void *into)
{
    uint32_t seen = 0;

    for (const struct field *f = fields; f->name; f++) {
        uint64_t none = absent(f->kind);

        if (f->kind != TEXT)
            memcpy((char *)into + f->at, &none, sizeof(none));
    }
    while (take_word(p))
        if (take_field(p, fields, into, &seen) < 0)
            return -1;
    for (unsigned i = 0; fields[i].name; i++)
        if (fields[i].needed && !(seen >> i & 1))
            return error_set(p->err, "line %zu: '%s' is missing", p->line, fields[i].name);
    return 0;
}

/* Things have numbers in the order in which they come. */
static int take_name(struct parser *p, char letter, size_t n, size_t most)
{
    uint64_t v;

    if (n >= most)
        return error_set(p->err, "line %zu: more than %zu", p->line, most);
    if (!take_word(p) || !reference_of(p->word, letter, n + 1, &v) || v != n)
        return error_set(p->err, "line %zu: expected the name %c%zu", p->line, letter, n);
    return 0;
}

static int take_thread(struct parser *p)
{
    struct race_schedule *s = p->s;
    struct schedule_thread t = { 0 };

    if (take_name(p, 'T', s->nthreads, SCHEDULE_THREADS_MOST) < 0 ||
        take_fields(p, thread_fields, &t) < 0)
        return -1;
    if ((t.by == SCHEDULE_NONE) != (s->nthreads == 0) || (t.by == SCHEDULE_NONE) != !t.number ||
        t.number > UINT32_MAX)
        return error_set(p->err, "line %zu: T0 is the first thread, others have 'by' and 'number'",
                         p->line);
    GROW(s->threads, s->threads_cap, s->nthreads + 1);
    s->threads[s->nthreads++] = t;
    return 0;
}

static int race_schedule_take_event(struct parser *p)
{
    struct race_schedule *s = p->s;
    struct schedule_event e = { 0 };

    if (take_name(p, 'E', s->nevents, SCHEDULE_EVENTS_MOST) < 0 ||
        take_fields(p, event_fields, &e) < 0)
        return -1;
    if (!e.number || e.number > UINT32_MAX)
        return error_set(p->err, "line %zu: 'number' counts from 1", p->line);
    GROW(s->events, s->events_cap, s->nevents + 1);
    s->events[s->nevents++] = e;
    return 0;
}

static int take_access(struct parser *p)
{
    struct race_schedule *s = p->s;
    struct schedule_access a = { 0 };

    if (s->naccesses == 2)
        return error_set(p->err, "line %zu: a race has two accesses", p->line);
    if (take_fields(p, access_fields, &a) < 0)
        return -1;
    if (!op_is_access((unsigned)a.op) && a.op != OP_FREE)
        return error_set(p->err, "line %zu: '%s' is no access", p->line, op_table[a.op].name);
    s->access[s->naccesses++] = a;
    return 0;
}

static int take_order(struct parser *p)
{
    struct race_schedule *s = p->s;
    struct schedule_order o = { 0 };

    if (s->norders == SCHEDULE_ORDERS_MOST)
        return error_set(p->err, "line %zu: more than %d", p->line, SCHEDULE_ORDERS_MOST);
    if (take_fields(p, order_fields, &o) < 0)
        return -1;
    GROW(s->orders, s->orders_cap, s->norders + 1);
    s->orders[s->norders++] = o;
    return 0;
}

/* A line that there is at most once. */
static int take_once(struct parser *p, bool *seen, const struct field *fields, void *into)
{
    if (*seen)
        return error_set(p->err, "line %zu: '%s' is there twice", p->line, p->word);
    *seen = true;
    return take_fields(p, fields, into);
}

static int take_run(struct parser *p)
{
    if (take_once(p, &p->run, run_fields, p->s) < 0)
        return -1;
    return p->s->waits <= 2 ? 0 : error_set(p->err, "line %zu: 'waits' is 1 or 2", p->line);
}

static int take_line(struct parser *p)
{
    if (!take_word(p) || p->word[0] == '#')
        return 0;
    if (strcmp(p->word, "race") == 0)
        return take_once(p, &p->race, race_fields, p->s);
    if (strcmp(p->word, "run") == 0)
        return take_run(p);
    if (strcmp(p->word, "thread") == 0)
        return take_thread(p);
    if (strcmp(p->word, "event") == 0)
        return race_schedule_take_event(p);
    if (strcmp(p->word, "access") == 0)
        return take_access(p);
    if (strcmp(p->word, "memory") == 0)
        return take_once(p, &p->memory, memory_fields, &p->s->memory);
    if (strcmp(p->word, "order") == 0)
        return take_order(p);
    return error_set(p->err, "line %zu: no such keyword: '%s'", p->line, p->word);
}

static int take_first_line(struct parser *p)
{
    uint64_t version;

    if (!take_word(p) || strcmp(p->word, SCHEDULE_MAGIC) != 0 || !take_word(p) ||
        !number_of(p->word, &version))
        return error_set(p->err, "line 1: no schedule of a race");
    if (version != SCHEDULE_VERSION)
        return error_set(p->err, "line 1: version %" PRIu64 ", only %d is known", version,
                         SCHEDULE_VERSION);
    return 0;
}

static int take_lines(struct parser *p, const char *text, size_t n)
{
    const char *end = text + n;

    for (p->line = 1; text < end; p->line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        p->next = text;
        p->end = stop ? stop : end;
        if ((p->line == 1 ? take_first_line(p) : take_line(p)) < 0)
            return -1;
        text = stop ? stop + 1 : end;
    }
    if (p->line == 1)
        return error_set(p->err, "it is empty");
    return p->s->naccesses == 2
               ? 0
               : error_set(p->err, "a race has two accesses, here are %zu", p->s->naccesses);
}

int race_schedule_parse(struct race_schedule *s, const char *text, size_t n, struct error *err)
{
    struct parser p = { .s = s, .err = err };
    int r;

    s->memory.block = s->memory.stack = SCHEDULE_NONE;
    if (memchr(text, 0, n))
        r = error_set(err, "it is no text");
    else
        r = take_lines(&p, text, n);
    if (r < 0)
        race_schedule_release(s);
    return r;
}

static int race_schedule_read_all(FILE *in, struct buf *b, struct error *err)
{
    char piece[4096];
    size_t n;

    while ((n = fread(piece, 1, sizeof(piece), in)) > 0) {
        buf_add(b, piece, n);
        if (b->len > FILE_BYTES_MOST)
            return error_set(err, "it is too large");
    }
    return ferror(in) ? error_set(err, "%s", strerror(errno)) : 0;
}

int race_schedule_read(struct race_schedule *s, const char *path, struct error *err)
{
    struct buf b = { 0 };
    FILE *in = fopen(path, "re");
    int r = in ? race_schedule_read_all(in, &b, err) : error_set(err, "%s", strerror(errno));

    if (r == 0)
        r = race_schedule_parse(s, b.data ? b.data : "", b.len, err);
    if (in)
        fclose(in);
    buf_release(&b);
    return r < 0 ? error_prefix(err, "cannot read '%s'", path) : 0;
}
