/* hdl_tools.h - what the tests of the .hdl format share
 *
 * Random events of every kind, whole files in memory, and reading a file back
 * into one array. All random numbers come from a seed.
 */
#ifndef HEDDLE_TESTS_HDL_TOOLS_H
#define HEDDLE_TESTS_HDL_TOOLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "trace/hdl/format.h"
#include "trace/hdl/hdl.h"
#include "trace/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- random numbers ---- */

static inline uint64_t rnd(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t below(uint64_t *seed, uint64_t n)
{
    return rnd(seed) % n;
}

/* Numbers of every length are equally likely. */
static inline uint64_t any_length(uint64_t *seed)
{
    return rnd(seed) >> below(seed, 64);
}

/* ---- events ---- */

struct events {
    struct event *list;
    size_t count, cap;
    uint64_t *extra;
    size_t nextra, extra_cap;
};

static inline void events_release(struct events *e)
{
    free(e->list);
    free(e->extra);
    *e = (struct events){ 0 };
}

static inline void events_add(struct events *e, struct event ev)
{
    GROW(e->list, e->cap, e->count + 1);
    e->list[e->count++] = ev;
}

static inline void events_add_entry(struct events *e, uint64_t entry, uint64_t bytes)
{
    GROW(e->extra, e->extra_cap, e->nextra + 2);
    e->extra[e->nextra++] = entry;
    e->extra[e->nextra++] = bytes;
}

static inline struct batch events_batch(const struct events *e, size_t first, size_t count)
{
    return (struct batch){ count ? e->list + first : NULL, count, first, e->extra };
}

static inline void fill_names(struct intern *t, char prefix, unsigned count)
{
    char name[16];

    for (unsigned i = 0; i < count; i++)
        intern_append(t, name, (size_t)snprintf(name, sizeof(name), "%c%u", prefix, i));
}

static inline void fill_tables(struct tables *t, unsigned threads, unsigned others)
{
    fill_names(&t->threads, 'T', threads);
    fill_names(&t->variables, 'v', others);
    fill_names(&t->objects, 'o', others);
    fill_names(&t->functions, 'f', others);
    fill_names(&t->sites, 's', 4 * others);
}

static inline uint64_t any_address(uint64_t *seed, uint64_t bytes)
{
    switch (below(seed, 3)) {
    case 0:
        return 0x1000 + 8 * below(seed, 64); /* near others */
    case 1:
        return ADDRESS_LIMIT - bytes;
    default:
        return rnd(seed) >> (7 + below(seed, 40)) & ~(uint64_t)0x7fffffff;
    }
}

static inline void random_memory(uint64_t *seed, const struct tables *t, struct event *ev,
                                 uint64_t *bytes)
{
    static const uint32_t sizes[] = { 1, 2, 3, 4, 7, 8, 16, 24, 4097, ACCESS_MAX_BYTES };

    if (below(seed, 2)) {
        ev->target = NAMED_ADDRESS(below(seed, t->variables.count));
        *bytes = 8;
    } else {
        *bytes = sizes[below(seed, sizeof(sizes) / sizeof(sizes[0]))];
        ev->target = any_address(seed, *bytes);
    }
}

/* An entry of a list, of any kind. */
static inline void random_entry(uint64_t *seed, const struct tables *t, struct events *e)
{
    unsigned kind = (unsigned)below(seed, 8);
    uint64_t address = any_address(seed, 1), bytes;
    struct event place;

    switch (kind) {
    case D_MEMORY_KIND:
        random_memory(seed, t, &place, &bytes);
        events_add_entry(e, place.target, bytes);
        break;
    case D_THREAD_KIND:
    case D_START_KIND:
        events_add_entry(e, D_ENTRY(kind, below(seed, t->threads.count)), 0);
        break;
    case D_SYNC_KIND:
        events_add_entry(e, D_ENTRY(kind, below(seed, t->objects.count)), 0);
        break;
    case D_ALL_KIND:
        events_add_entry(e, D_ENTRY(kind, 0), 0);
        break;
    case D_ROOT_KIND:
        events_add_entry(e, D_ENTRY(kind, address), 0);
        break;
    case D_EXTENT_KIND:
        events_add_entry(e, D_ENTRY(kind, address), 1 + below(seed, ADDRESS_LIMIT - address));
        break;
    default:
        events_add_entry(e, D_ENTRY(kind, address), any_address(seed, 1));
    }
}

/* Some lists are as readers of version 1.2 know them, some are long. */
static inline void random_call(uint64_t *seed, const struct tables *t, struct event *ev,
                               struct events *e)
{
    bool old = below(seed, 2);

    ev->value = e->nextra;
    ev->old = below(seed, below(seed, 4) ? 4 : 20);
    for (uint64_t i = 0; i < ev->old; i++) {
        struct event place;
        uint64_t bytes;

        random_memory(seed, t, &place, &bytes);
        if (!old)
            random_entry(seed, t, e);
        else if (below(seed, 3))
            events_add_entry(e, place.target, bytes);
        else
            events_add_entry(e, D_THREAD(below(seed, t->threads.count)), 0);
    }
}

static inline void random_value(uint64_t *seed, struct event *ev)
{
    if (!below(seed, 2))
        return;
    ev->flags |= EV_VALUE;
    ev->value = any_length(seed);
    if (below(seed, 2))
        ev->flags |= EV_SIGNED;
    if (ev->op == OP_RMW && below(seed, 2)) {
        ev->flags |= EV_OLD;
        ev->old = any_length(seed);
    }
}

/* An event of the given operation that the format can express. */
static inline void random_event_of(uint64_t *seed, const struct tables *t, unsigned op,
                                   struct events *e)
{
    struct event ev = { .op = (uint8_t)op, .thread = (uint32_t)below(seed, t->threads.count) };
    uint64_t bytes;

    ev.site = below(seed, 20) ? (uint32_t)below(seed, t->sites.count) : SITE_NONE;
    if (op_is_atomic(op) || op == OP_FENCE)
        ev.order = (uint8_t)(1 + below(seed, ORDER_COUNT - 1));
    switch (op_class_of(op)) {
    case CLASS_ACCESS:
    case CLASS_ATOMIC:
        random_memory(seed, t, &ev, &bytes);
        ev.size = (uint32_t)bytes;
        random_value(seed, &ev);
        break;
    case CLASS_MEMORY:
        random_memory(seed, t, &ev, &ev.value);
        break;
    case CLASS_LINK:
        ev.target = any_address(seed, 1);
        ev.value = op == OP_LINK ? any_address(seed, 1) : 1;
        break;
    case CLASS_THREAD:
        if (op == OP_FORK || op == OP_JOIN)
            ev.target = below(seed, t->threads.count);
        ev.flags = below(seed, 2) ? EV_BARE : 0;
        break;
    case CLASS_CALL:
    case CLASS_STACK:
        ev.target = below(seed, t->functions.count);
        if (op == OP_CALL)
            random_call(seed, t, &ev, e);
        break;
    case CLASS_BRANCH:
        random_value(seed, &ev);
        break;
    case CLASS_FENCE:
        break;
    default:
        ev.target =
            below(seed, 2) ? NAMED_OBJECT(below(seed, t->objects.count)) : any_address(seed, 1);
    }
    events_add(e, ev);
}

static inline void random_event(uint64_t *seed, const struct tables *t, struct events *e)
{
    unsigned op;

    do
        op = (unsigned)below(seed, OP_COUNT);
    while (!op_is_known(op));
    random_event_of(seed, t, op, e);
}

/* Names, and so many random events that use them. */
static inline void make_events(uint64_t seed, unsigned threads, size_t count, struct tables *t,
                               struct events *e)
{
    *t = (struct tables){ 0 };
    *e = (struct events){ 0 };
    fill_tables(t, threads, 20);
    for (size_t i = 0; i < count; i++)
        random_event(&seed, t, e);
}

static inline bool same_event(const struct event *a, const uint64_t *a_extra, const struct event *b,
                              const uint64_t *b_extra)
{
    if (a->op != OP_CALL)
        return !memcmp(a, b, sizeof(*a));
    return a->op == b->op && a->target == b->target && a->thread == b->thread &&
           a->site == b->site && a->size == b->size && a->order == b->order &&
           a->flags == b->flags && a->old == b->old &&
           (!a->old || !memcmp(a_extra + a->value, b_extra + b->value, 16 * a->old));
}

/* `got` is equal to the events of `all` from `first` on. */
static inline void assert_events(const struct events *all, size_t first, const struct event *got,
                                 const uint64_t *extra, size_t count)
{
    assert_true(first + count <= all->count);
    for (size_t i = 0; i < count; i++)
        if (!same_event(&all->list[first + i], all->extra, &got[i], extra))
            fail_msg("event %zu differs", first + i);
}

/* ---- files ---- */

static char hdl_dir[] = "/tmp/heddle_test_hdl_XXXXXX";

static inline int make_dir(void **state)
{
    (void)state;
    return mkdtemp(hdl_dir) ? 0 : -1;
}

static inline int remove_dir(void **state)
{
    char *command = xasprintf("rm -rf %s", hdl_dir);
    int r = system(command);

    (void)state;
    free(command);
    return r;
}

/* A path in the directory of this run. The memory is reused by the fourth call after it. */
static inline const char *path_to(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *p = paths[next++ % 4];

    snprintf(p, sizeof(paths[0]), "%s/%s", hdl_dir, name);
    return p;
}

static inline void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A file that is only in memory, and its path; the next call overwrites it. Opening ten thousand
 * broken files on a disk takes half a minute. */
static inline const char *memory_file(const void *data, size_t n)
{
    static int fd = -1;
    static char path[64];

    if (fd < 0)
        fd = memfd_create("heddle-test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, data, n, 0), n);
    return path;
}

static inline void slurp(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "rb");
    char block[4096];
    size_t n;

    assert_non_null(f);
    b->len = 0;
    while ((n = fread(block, 1, sizeof(block), f)) > 0)
        buf_add(b, block, n);
    fclose(f);
}

/* Write all events in the merged layout. */
static inline void write_merged(const char *path, const struct tables *t, const struct events *e,
                                const struct hdl_options *o)
{
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path, t, o, &err);
    struct batch b = events_batch(e, 0, e->count);

    if (!w || hdl_write(w, &b, &err) < 0 || hdl_finish(w, &err) < 0)
        fail_msg("%s", err.text);
}

/* A file read to its end. */
struct reading {
    struct tables tables;
    struct trace_info info;
    struct error err;
    struct source *source; /* NULL: it could not be opened */
    struct events events;
};

static inline void reading_pass(struct reading *r)
{
    struct batch b;
    int more;

    while ((more = r->source->ops->next(r->source, &b, &r->err)) > 0) {
        assert_true(b.count > 0);
        for (size_t i = 0; i < b.count; i++) {
            struct event ev = b.events[i];

            if (ev.op == OP_CALL) {
                ev.value = r->events.nextra;
                for (uint64_t k = 0; k < ev.old; k++)
                    events_add_entry(&r->events, b.extra[b.events[i].value + 2 * k],
                                     b.extra[b.events[i].value + 2 * k + 1]);
            }
            events_add(&r->events, ev);
        }
    }
    assert_int_equal(more, 0); /* once it is open, damage is a loss */
}

static inline void reading_open(struct reading *r, const char *path)
{
    *r = (struct reading){ 0 };
    r->source = hdl_open(path, &r->tables, &r->info, &r->err);
}

static inline void reading_start(struct reading *r, const char *path)
{
    reading_open(r, path);
    if (r->source)
        reading_pass(r);
}

static inline void reading_release(struct reading *r)
{
    if (r->source)
        r->source->ops->close(r->source);
    tables_release(&r->tables);
    events_release(&r->events);
}

/* ---- bytes of a file ---- */

static inline struct hdl_chunk_header chunk_at(const struct buf *file, size_t offset)
{
    struct hdl_chunk_header h;

    memcpy(&h, file->data + offset, sizeof(h));
    return h;
}

/* Where the nth chunk starts; at the end of the file: its length. */
static inline size_t chunk_offset(const struct buf *file, size_t n)
{
    size_t offset = sizeof(struct hdl_file_header);

    while (n-- && offset < file->len)
        offset += sizeof(struct hdl_chunk_header) + chunk_at(file, offset).stored_bytes;
    return offset;
}

/* Put a changed header back, with its checksum. */
static inline void put_chunk_header(struct buf *file, size_t offset, struct hdl_chunk_header h)
{
    h.header_checksum = XXH32(&h, sizeof(h) - 4, 0);
    memcpy(file->data + offset, &h, sizeof(h));
}

/* Two names chunks (threads, sites), three chunks of ten events, the end. */
static inline void small_file(struct buf *file)
{
    struct tables t = { 0 };
    struct events e = { 0 };

    fill_names(&t.threads, 'T', 2);
    fill_names(&t.sites, 's', 2);
    for (uint32_t i = 0; i < 30; i++)
        events_add(
            &e, (struct event){
                    .op = OP_WRITE, .size = 4, .target = 4 * i, .thread = i % 2, .site = i % 2 });
    write_merged(path_to("small.hdl"), &t, &e,
                 &(struct hdl_options){ .compression = HDL_RAW, .chunk_events = 10 });
    slurp(path_to("small.hdl"), file);
    assert_int_equal(chunk_offset(file, 6), file->len);
    events_release(&e);
    tables_release(&t);
}

#endif
