/* test_merge.c - per-thread chunks to one order
 *
 * A random program is simulated: its threads take turns, operations on objects
 * take sequence numbers. The events are split by thread, given stamps that are
 * as bad as wanted, written and merged. What must come out is computed again
 * by a merger that looks at every thread before every event.
 */
#include "hdl_tools.h"

#include "abi/rt_stripe.h"

#include <sys/resource.h>
#include <sys/wait.h>

enum { THREADS_MAX = 16, OBJECTS = 6, COUNTERS = RING_STRIPES };

/* One thread's events with all that the file says about them. */
struct own {
    struct events events; /* extra stays empty: calls list nothing */
    uint64_t *sequences, *stamps;
    uint32_t *objects; /* which counter a sequence number belongs to */
    size_t cap_q, cap_t, cap_o;
};

struct program {
    struct tables tables;
    unsigned threads;
    struct own own[THREADS_MAX];
    bool stripes; /* sequence numbers count per stripe, not per object */
    uint64_t counters[COUNTERS];
    struct events all; /* in the order of execution */
};

static void program_release(struct program *p)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        events_release(&p->own[i].events);
        free(p->own[i].sequences);
        free(p->own[i].stamps);
        free(p->own[i].objects);
    }
    events_release(&p->all);
    tables_release(&p->tables);
    *p = (struct program){ 0 };
}

/* The next event of the execution; `object` < 0: it has no sequence number. */
static void happen(struct program *p, struct event ev, int object)
{
    struct own *o = &p->own[ev.thread];
    bool own = ev.op == OP_BEGIN || ev.op == OP_END;
    size_t n = o->events.count;

    if (p->stripes && object >= 0)
        object = (int)ring_stripe(ring_class(ev.op), own ? ev.thread : ev.target);

    GROW(o->sequences, o->cap_q, n + 1);
    GROW(o->stamps, o->cap_t, n + 1);
    GROW(o->objects, o->cap_o, n + 1);
    o->sequences[n] = object < 0 ? 0 : ++p->counters[object];
    o->objects[n] = (uint32_t)object;
    o->stamps[n] = p->all.count;
    events_add(&o->events, ev);
    events_add(&p->all, ev);
}

/* Objects 0-1 are locks, 2-3 annotations, 4-5 atomics; two of each share a number with another
 * class, as the address of a lock may be that of a variable. */
static struct event operation_on(unsigned object, uint64_t *seed)
{
    switch (object / 2) {
    case 0:
        return (struct event){ .op = below(seed, 2) ? OP_ACQUIRE : OP_RELEASE,
                               .target = object == 0 ? 0x40 : NAMED_OBJECT(0) };
    case 1:
        return (struct event){ .op = below(seed, 2) ? OP_BEFORE : OP_AFTER,
                               .target = object == 2 ? 0x40 : NAMED_OBJECT(0) };
    default:
        return (struct event){ .op = OP_STORE,
                               .order = ORDER_RELEASE,
                               .size = 8,
                               .target = object == 4 ? 0x40 : NAMED_ADDRESS(0) };
    }
}

static void simulate_with(struct program *p, uint64_t seed, unsigned threads, size_t events,
                          bool stripes)
{
    bool begun[THREADS_MAX] = { true };
    unsigned forked = 1;

    *p = (struct program){ .threads = threads, .stripes = stripes };
    fill_tables(&p->tables, threads, 10);
    while (p->all.count < events) {
        uint32_t thread = (uint32_t)below(&seed, forked);
        unsigned object = (unsigned)below(&seed, OBJECTS);
        struct event ev = { 0 };

        if (!begun[thread]) {
            begun[thread] = true;
            happen(p, (struct event){ .op = OP_BEGIN, .thread = thread }, OBJECTS + (int)thread);
        } else if (forked < threads && !below(&seed, 20)) {
            happen(p, (struct event){ .op = OP_FORK, .thread = thread, .target = forked },
                   OBJECTS + (int)forked);
            forked++;
        } else if (below(&seed, 3)) {
            ev = (struct event){ .op = OP_WRITE,
                                 .size = 4,
                                 .target = 4 * below(&seed, 50),
                                 .flags = EV_VALUE,
                                 .value = p->all.count,
                                 .thread = thread };
            happen(p, ev, -1);
        } else {
            ev = operation_on(object, &seed);
            ev.thread = thread;
            ev.site = (uint32_t)below(&seed, 40);
            happen(p, ev, (int)object);
        }
    }
    for (uint32_t i = 0; i < forked; i++)
        happen(p, (struct event){ .op = OP_END, .thread = i }, OBJECTS + (int)i);
}

static void simulate(struct program *p, uint64_t seed, unsigned threads, size_t events)
{
    simulate_with(p, seed, threads, events, false);
}

/* Clocks that tick seldom, and differ between threads. */
static void spoil_stamps(struct program *p, uint64_t seed, uint64_t tick, uint64_t skew)
{
    for (unsigned t = 0; t < p->threads; t++) {
        uint64_t offset = skew ? below(&seed, skew) : 0;

        for (size_t i = 0; i < p->own[t].events.count; i++)
            p->own[t].stamps[i] = (p->own[t].stamps[i] + offset) / tick;
    }
}

/* In rounds, as buffers fill up: `piece` events of each thread. */
static void write_program(const struct program *p, const char *path, size_t piece)
{
    struct hdl_options o = {
        .compression = HDL_LZ4, .threads = true, .stamp_ns = 100, .stripes = p->stripes
    };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path, &p->tables, &o, &err);
    bool more = true;

    assert_non_null(w);
    for (size_t first = 0; more; first += piece) {
        more = false;
        for (uint32_t t = 0; t < p->threads; t++) {
            const struct own *own = &p->own[t];
            size_t left = own->events.count > first ? own->events.count - first : 0;
            struct hdl_stream s;

            if (!left)
                continue;
            s = (struct hdl_stream){ own->events.list + first, own->sequences + first,
                                     own->stamps + first, NULL, left < piece ? left : piece };
            assert_int_equal(hdl_write_thread(w, t, first, &s, &err), 0);
            more = true;
        }
    }
    assert_int_equal(hdl_finish(w, &err), 0);
}

/* ---- what must come out ---- */

/* The rule itself: of the threads whose next event may come, the one with the smallest stamp.
 * usable[t]: the events of thread t that are in the file without a hole. */
static void merge_slowly(const struct program *p, const size_t *usable, struct events *out)
{
    static uint64_t seen[COUNTERS];
    size_t at[THREADS_MAX] = { 0 };

    memset(seen, 0, sizeof(seen));
    for (;;) {
        unsigned best = THREADS_MAX;

        for (unsigned t = 0; t < p->threads; t++) {
            const struct own *o = &p->own[t];

            if (at[t] == usable[t])
                continue;
            if (o->sequences[at[t]] && seen[o->objects[at[t]]] != o->sequences[at[t]] - 1)
                continue;
            if (best == THREADS_MAX || o->stamps[at[t]] < p->own[best].stamps[at[best]])
                best = t;
        }
        if (best == THREADS_MAX)
            return;
        if (p->own[best].sequences[at[best]])
            seen[p->own[best].objects[at[best]]]++;
        events_add(out, p->own[best].events.list[at[best]++]);
    }
}

static void all_usable(const struct program *p, size_t *usable)
{
    for (unsigned t = 0; t < p->threads; t++)
        usable[t] = p->own[t].events.count;
}

/* The result is what the slow merger makes of the usable events. Twice: also after a rewind. */
static void expect_merge(const struct program *p, const char *path, const size_t *usable)
{
    struct events want = { 0 };
    struct reading r;
    uint64_t lost;

    merge_slowly(p, usable, &want);
    reading_start(&r, path);
    assert_non_null(r.source);
    assert_int_equal(r.events.count, want.count);
    assert_events(&want, 0, r.events.list, r.events.extra, want.count);
    assert_int_equal(r.info.loss[0] == 0, want.count == p->all.count);
    lost = r.info.lost_bytes;
    events_release(&r.events);
    assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
    reading_pass(&r);
    assert_int_equal(r.events.count, want.count);
    assert_events(&want, 0, r.events.list, r.events.extra, want.count);
    assert_int_equal(r.info.lost_bytes, lost);
    reading_release(&r);
    events_release(&want);
}

/* ---- cases ---- */

static void exact_stamps_give_the_order_of_execution(void **state)
{
    static struct program p;
    struct reading r;

    (void)state;
    simulate(&p, 1, 8, 20000);
    write_program(&p, path_to("m.hdl"), 100);
    reading_start(&r, path_to("m.hdl"));
    assert_string_equal(r.info.loss, "");
    assert_int_equal(r.info.expected_events, p.all.count);
    assert_int_equal(r.events.count, p.all.count);
    assert_events(&p.all, 0, r.events.list, r.events.extra, p.all.count);
    reading_release(&r);
    program_release(&p);
}

static bool is_unwanted(const struct event *e)
{
    return e->op == OP_WRITE && e->target % 8;
}

static bool drops_unwanted(void *arg, const struct event *e)
{
    ++*(size_t *)arg;
    return is_unwanted(e);
}

/* At `position` of what there is stands this event, or what stands for others. */
static void expect_in_place(const struct events *all, uint64_t position, const struct event *e)
{
    const struct event *at = all->list + position;

    assert_true(position + event_positions(e) <= all->count);
    if (e->op) {
        assert_memory_equal(at, e, sizeof(*e));
        assert_false(is_unwanted(e));
    }
    for (uint64_t i = 0; !e->op && i < e->value; i++) {
        assert_true(is_unwanted(at + i));
        assert_int_equal(at[i].thread, e->thread);
    }
}

/* How many events a thin pass has. */
static size_t thin_pass(struct reading *r)
{
    struct batch b;
    uint64_t position = 0;
    size_t n = 0;

    while (r->source->ops->next(r->source, &b, &r->err) > 0) {
        assert_int_equal(b.first, position);
        for (size_t i = 0; i < b.count; i++) {
            expect_in_place(&r->events, position, &b.events[i]);
            position += event_positions(&b.events[i]);
        }
        assert_int_equal(b.first + b.count + b.skipped, position);
        n += b.count;
    }
    assert_int_equal(position, r->events.count);
    return n;
}

static void a_thin_pass_leaves_out_what_it_may_and_moves_nothing(void **state)
{
    static const uint64_t ticks[] = { 1, 7, 1000000 };

    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        static struct program p;
        size_t asked = 0, n;
        const struct trace_thin thin = { drops_unwanted, &asked };
        struct reading r;

        simulate_with(&p, seed, 1 + (unsigned)seed % 8, 20000, seed % 2);
        spoil_stamps(&p, seed, ticks[seed % 3], 0);
        write_program(&p, path_to("m.hdl"), 700);
        reading_start(&r, path_to("m.hdl"));
        for (int pass = 0; pass < 2; pass++) {
            assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
            r.source->ops->thin(r.source, &thin);
            n = thin_pass(&r);
            assert_true(n < r.events.count || seed % 3 == 0); /* each stamp once */
        }
        assert_true(asked >= 2);
        r.source->ops->thin(r.source, NULL);
        assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
        asked = r.events.count;
        events_release(&r.events);
        reading_pass(&r);
        assert_int_equal(r.events.count, asked);
        reading_release(&r);
        program_release(&p);
    }
}

/* Each thread's own order, and on each object the order of the sequence numbers. */
static void expect_rules(const struct program *p, const struct events *got)
{
    static uint64_t seen[COUNTERS];
    size_t at[THREADS_MAX] = { 0 };

    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < got->count; i++) {
        uint32_t t = got->list[i].thread;
        const struct own *o = &p->own[t];

        assert_true(at[t] < o->events.count);
        assert_true(same_event(&o->events.list[at[t]], NULL, &got->list[i], NULL));
        if (o->sequences[at[t]])
            assert_int_equal(o->sequences[at[t]], ++seen[o->objects[at[t]]]);
        at[t]++;
    }
}

static void bad_stamps_never_break_program_order_or_sequence_numbers(void **state)
{
    static const uint64_t ticks[] = { 1, 7, 100, 1000000 }, skews[] = { 0, 50, 5000 };

    (void)state;
    for (uint64_t seed = 0; seed < 72; seed++) {
        static struct program p;
        size_t usable[THREADS_MAX];
        struct reading r;

        simulate_with(&p, seed, 1 + (unsigned)(seed % THREADS_MAX), 3000, seed >= 36);
        spoil_stamps(&p, seed, ticks[seed % 4], skews[seed / 4 % 3]);
        write_program(&p, path_to("m.hdl"), 1 + seed % 36 * seed * 3);
        reading_start(&r, path_to("m.hdl"));
        assert_int_equal(r.events.count, p.all.count); /* nothing is lost, nothing is stuck */
        expect_rules(&p, &r.events);
        reading_release(&r);
        all_usable(&p, usable);
        expect_merge(&p, path_to("m.hdl"), usable);
        program_release(&p);
    }
}

/* Copy the file without its nth chunk; the others are numbered again. */
static void drop_chunk(const struct buf *file, size_t n, struct buf *out)
{
    struct hdl_chunk_header h;
    uint64_t events = 0;
    uint32_t number = 0;

    buf_add(out, file->data, sizeof(struct hdl_file_header));
    for (size_t k = 0; chunk_offset(file, k) < file->len; k++) {
        size_t at = chunk_offset(file, k), to = out->len;

        if (k == n)
            continue;
        h = chunk_at(file, at);
        h.number = number++;
        if (h.kind == HDL_THREAD)
            events += h.count;
        if (h.kind == HDL_END)
            h.first = events;
        buf_add(out, file->data + at, sizeof(h) + h.stored_bytes);
        put_chunk_header(out, to, h);
    }
}

static size_t chunks_of(const struct buf *file)
{
    size_t n = 0;

    while (chunk_offset(file, n) < file->len)
        n++;
    return n;
}

static void lose_each_chunk(bool stripes)
{
    struct buf file = { 0 };
    size_t usable[THREADS_MAX], tried = 0;
    static struct program p;

    simulate_with(&p, 3, 6, 2000, stripes);
    spoil_stamps(&p, 3, 10, 40);
    write_program(&p, path_to("m.hdl"), 40);
    slurp(path_to("m.hdl"), &file);
    for (size_t n = 0; n < chunks_of(&file); n++) {
        size_t at = chunk_offset(&file, n);
        struct hdl_chunk_header h = chunk_at(&file, at);
        struct buf less = { 0 };

        if (h.kind != HDL_THREAD)
            continue;
        all_usable(&p, usable);
        usable[h.subject] = h.first;
        file.data[at + sizeof(h)] ^= 1; /* damaged */
        write_file(path_to("less.hdl"), file.data, file.len);
        file.data[at + sizeof(h)] ^= 1;
        expect_merge(&p, path_to("less.hdl"), usable);
        drop_chunk(&file, n, &less); /* not there at all */
        write_file(path_to("less.hdl"), less.data, less.len);
        if (h.first + h.count < p.own[h.subject].events.count)
            expect_merge(&p, path_to("less.hdl"), usable);
        buf_release(&less);
        tried++;
    }
    assert_true(tried > 30);
    buf_release(&file);
    program_release(&p);
}

static void a_lost_chunk_ends_its_thread_and_whoever_needs_it(void **state)
{
    (void)state;
    lose_each_chunk(false);
    lose_each_chunk(true);
}

static void a_file_cut_anywhere_gives_a_consistent_prefix(void **state)
{
    struct buf file = { 0 };
    uint64_t seed = 5;
    static struct program p;

    (void)state;
    simulate(&p, 4, 5, 1000);
    spoil_stamps(&p, 4, 5, 100);
    write_program(&p, path_to("m.hdl"), 30);
    slurp(path_to("m.hdl"), &file);
    for (size_t n = 0; n < chunks_of(&file); n++) {
        size_t usable[THREADS_MAX] = { 0 }, from = chunk_offset(&file, n);
        size_t len = from + below(&seed, chunk_offset(&file, n + 1) - from);

        for (size_t k = 0; k < n; k++) {
            struct hdl_chunk_header h = chunk_at(&file, chunk_offset(&file, k));

            if (h.kind == HDL_THREAD)
                usable[h.subject] = h.first + h.count;
        }
        write_file(path_to("less.hdl"), file.data, len);
        if (n + 1 < chunks_of(&file)) {
            expect_merge(&p, path_to("less.hdl"), usable);
        } else { /* only the end mark is missing: no event is, but it is told */
            struct reading r;

            reading_start(&r, path_to("less.hdl"));
            assert_int_equal(r.events.count, p.all.count);
            assert_non_null(strstr(r.info.loss, "no end mark"));
            reading_release(&r);
        }
    }
    buf_release(&file);
    program_release(&p);
}

/* What was delivered so far obeys the rules at any time; in the end all is there. */
static void follow_in_pieces(const struct program *p, const struct buf *file, uint64_t seed)
{
    FILE *out = fopen(path_to("grow.hdl"), "wb");
    size_t done = sizeof(struct hdl_file_header), n = done;
    struct reading r = { 0 };

    assert_non_null(out);
    assert_int_equal(fwrite(file->data, 1, n, out), n);
    assert_int_equal(fflush(out), 0);
    r.source = hdl_open(path_to("grow.hdl"), &r.tables, &r.info, &r.err);
    assert_non_null(r.source);
    for (; done < file->len; done += n) {
        assert_int_equal(r.source->ops->follow(r.source, false), 0);
        reading_pass(&r);
        expect_rules(p, &r.events);
        n = 1 + below(&seed, 2000);
        n = n < file->len - done ? n : file->len - done;
        assert_int_equal(fwrite(file->data + done, 1, n, out), n);
        assert_int_equal(fflush(out), 0);
    }
    assert_int_equal(r.source->ops->follow(r.source, true), 0);
    reading_pass(&r);
    expect_rules(p, &r.events);
    assert_int_equal(r.events.count, p->all.count);
    reading_release(&r);
    fclose(out);
}

static void a_file_that_grows_gives_all_events_in_an_allowed_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        static struct program p;
        struct buf file = { 0 };

        simulate_with(&p, seed, 1 + (unsigned)(seed % THREADS_MAX), 2000, seed % 2);
        spoil_stamps(&p, seed, 7, 50);
        write_program(&p, path_to("m.hdl"), 1 + seed * 5);
        slurp(path_to("m.hdl"), &file);
        follow_in_pieces(&p, &file, seed);
        buf_release(&file);
        program_release(&p);
    }
}

static void losses_are_told(void **state)
{
    /* T1 waits for the second operation on a lock, which nobody recorded */
    static const struct event a[] = { { .op = OP_ACQUIRE, .target = 0x10 },
                                      { .op = OP_WRITE, .size = 4, .target = 0x20 } };
    static const struct event b[] = { { .op = OP_WRITE, .size = 4, .target = 0x30, .thread = 1 },
                                      { .op = OP_ACQUIRE, .target = 0x10, .thread = 1 },
                                      { .op = OP_WRITE, .size = 4, .target = 0x20, .thread = 1 } };
    static const uint64_t a_sequences[] = { 1, 0 }, b_sequences[] = { 0, 3, 0 };
    static const uint64_t stamps[] = { 0, 0, 0 };
    struct hdl_options o = { .threads = true };
    struct tables t = { 0 };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path_to("m.hdl"), &t, &o, &err);
    struct reading r;

    (void)state;
    fill_tables(&t, 2, 1);
    assert_int_equal(
        hdl_write_thread(w, 0, 0, &(struct hdl_stream){ a, a_sequences, stamps, NULL, 2 }, &err),
        0);
    assert_int_equal(
        hdl_write_thread(w, 1, 0, &(struct hdl_stream){ b, b_sequences, stamps, NULL, 3 }, &err),
        0);
    assert_int_equal(hdl_finish(w, &err), 0);
    reading_start(&r, path_to("m.hdl"));
    assert_int_equal(r.events.count, 3);
    assert_int_equal(r.events.list[2].thread, 1);
    assert_string_equal(r.info.loss, "thread T1 stops after 1 events: operation 2 of the object it "
                                     "uses next was lost");
    reading_release(&r);
    tables_release(&t);
}

/* The runtime's own numbers of classes are those of the trace. */
static void stripes_know_the_classes_of_operations(void **state)
{
    (void)state;
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (op_is_known(op))
            assert_int_equal(ring_class(op), op_class_of(op));
    assert_int_equal(ring_stripe(STRIPE_ATOMIC, 0x1234), ring_stripe(STRIPE_ATOMIC, 0x1230));
    assert_int_not_equal(ring_stripe(STRIPE_LOCK, 0x1230), ring_stripe(STRIPE_CONDITION, 0x1230));
    assert_int_equal(ring_stripe(STRIPE_LOCK, 0x7f0012345678), 0xd514);
}

static void frees_of_unknown_size_free_what_is_there(void **state)
{
    static const struct event a[] = {
        { .op = OP_ALLOC, .target = 0x100, .value = 24 },
        { .op = OP_FREE, .target = 0x100 },
        { .op = OP_FREE, .target = 0x100 },
        { .op = OP_ALLOC, .target = 0x100, .value = UINT64_C(5) << 32 },
        { .op = OP_ALLOC, .target = 0x100, .value = 8 }
    };
    static const struct event b[] = { { .op = OP_FREE, .target = 0x100, .thread = 1 },
                                      { .op = OP_FREE, .target = 0x200, .thread = 1 } };
    static const uint64_t a_sequences[] = { 1, 2, 3, 4, 6 }, b_sequences[] = { 5, 1 };
    static const uint64_t stamps[5], want[] = { 24, 24, 0, UINT64_C(5) << 32, 0, 0, 8 };
    struct hdl_options o = { .threads = true, .stripes = true };
    struct tables t = { 0 };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path_to("m.hdl"), &t, &o, &err);
    struct reading r;
    uint64_t freed = 0;

    (void)state;
    fill_tables(&t, 2, 1);
    assert_int_equal(
        hdl_write_thread(w, 0, 0, &(struct hdl_stream){ a, a_sequences, stamps, NULL, 5 }, &err),
        0);
    assert_int_equal(
        hdl_write_thread(w, 1, 0, &(struct hdl_stream){ b, b_sequences, stamps, NULL, 2 }, &err),
        0);
    assert_int_equal(hdl_finish(w, &err), 0);
    for (int pass = 0; pass < 2; pass++) {
        if (!pass) {
            reading_start(&r, path_to("m.hdl"));
        } else {
            events_release(&r.events);
            assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
            reading_pass(&r);
        }
        assert_int_equal(r.events.count, 7);
        for (size_t i = 0; i < 7; i++)
            if (r.events.list[i].thread == 1 && r.events.list[i].target == 0x100)
                freed = r.events.list[i].value;
        assert_int_equal(freed, UINT64_C(5) << 32); /* by another thread */
        assert_int_equal(r.events.list[1].value, want[1]);
        assert_int_equal(r.events.list[2].value, want[2]); /* freed twice */
    }
    reading_release(&r);
    tables_release(&t);
}

static void calls_keep_their_objects_when_they_are_merged(void **state)
{
    struct hdl_options o = { .threads = true, .compression = HDL_ZSTD, .chunk_events = 700 };
    struct tables t = { 0 };
    struct events e = { 0 };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path_to("m.hdl"), &t, &o, &err);
    uint64_t seed = 6, stamps[1500], sequences[1500] = { 0 };
    struct reading r;

    (void)state;
    fill_tables(&t, 2, 10);
    for (unsigned i = 0; i < 3000; i++) {
        random_event_of(&seed, &t, i % 3 ? OP_CALL : OP_RETURN, &e);
        e.list[i].thread = i >= 1500;
    }
    for (unsigned thread = 0; thread < 2; thread++) {
        for (unsigned i = 0; i < 1500; i++)
            stamps[i] = 2 * i + thread;
        assert_int_equal(hdl_write_thread(w, thread, 0,
                                          &(struct hdl_stream){ e.list + 1500 * thread, sequences,
                                                                stamps, e.extra, 1500 },
                                          &err),
                         0);
    }
    assert_int_equal(hdl_finish(w, &err), 0);
    reading_start(&r, path_to("m.hdl"));
    assert_int_equal(r.events.count, 3000);
    for (size_t i = 0; i < 3000; i++)
        assert_true(same_event(&e.list[i / 2 + 1500 * (i % 2)], e.extra, &r.events.list[i],
                               r.events.extra));
    reading_release(&r);
    events_release(&e);
    tables_release(&t);
}

/* ---- many threads ---- */

/* Thread 0 forks n others; each begins, takes the one lock, writes, ends. Stamps are useless:
 * all of them seem to run before they are forked. */
static void write_many(const char *path, struct tables *t, uint32_t n)
{
    struct hdl_options o = { .threads = true, .compression = HDL_LZ4 };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path, t, &o, &err);
    uint64_t *ones = xcalloc(n, sizeof(*ones)), *stamps = xcalloc(n, sizeof(*stamps));
    struct events forks = { 0 };

    fill_tables(t, n + 1, 1);
    for (uint32_t i = 0; i < n; i++) {
        events_add(&forks, (struct event){ .op = OP_FORK, .target = n - i });
        ones[i] = 1;
        stamps[i] = 1000 + i;
    }
    assert_int_equal(
        hdl_write_thread(w, 0, 0, &(struct hdl_stream){ forks.list, ones, stamps, NULL, n }, &err),
        0);
    for (uint32_t i = 1; i <= n; i++) {
        const struct event own[] = { { .op = OP_BEGIN, .thread = i },
                                     { .op = OP_ACQUIRE, .target = 0x10, .thread = i },
                                     { .op = OP_WRITE, .size = 4, .target = 0x20, .thread = i },
                                     { .op = OP_RELEASE, .target = 0x10, .thread = i },
                                     { .op = OP_END, .thread = i } };
        const uint64_t sequences[] = { 2, 2 * (uint64_t)i - 1, 0, 2 * (uint64_t)i, 3 };
        const uint64_t early[] = { i, i, i, i, i };

        assert_int_equal(
            hdl_write_thread(w, i, 0, &(struct hdl_stream){ own, sequences, early, NULL, 5 }, &err),
            0);
    }
    assert_int_equal(hdl_finish(w, &err), 0);
    events_release(&forks);
    free(ones);
    free(stamps);
}

static bool sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
}

static size_t peak_bytes(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

/* In a process of its own, so that its peak is its own: 0 where everything is right. */
static int read_many(const char *path, uint32_t n)
{
    size_t before = peak_bytes(), count = 0, locks = 0;
    struct tables t = { 0 };
    struct trace_info info = { 0 };
    struct error err;
    struct source *s = hdl_open(path, &t, &info, &err);
    struct batch b;

    if (!s)
        return 1;
    while (s->ops->next(s, &b, &err) > 0)
        for (size_t i = 0; i < b.count; i++, count++)
            if (b.events[i].op == OP_ACQUIRE && b.events[i].thread != ++locks)
                return 2; /* the lock went from thread to thread in the order of their numbers */
    if (count != 6 * (size_t)n || info.loss[0])
        return 3;
    s->ops->close(s);
    tables_release(&t);
    if (!sanitized() && peak_bytes() - before > (size_t)32 << 20)
        return 4;
    return 0;
}

static void ten_thousand_waiting_threads_take_little_memory(void **state)
{
    enum { MANY = 10000 };
    struct tables t = { 0 };
    int status = -1;
    pid_t pid;

    (void)state;
    write_many(path_to("many.hdl"), &t, MANY);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(read_many(path_to("many.hdl"), MANY));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    tables_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_stamps_give_the_order_of_execution),
        cmocka_unit_test(a_thin_pass_leaves_out_what_it_may_and_moves_nothing),
        cmocka_unit_test(bad_stamps_never_break_program_order_or_sequence_numbers),
        cmocka_unit_test(a_lost_chunk_ends_its_thread_and_whoever_needs_it),
        cmocka_unit_test(a_file_cut_anywhere_gives_a_consistent_prefix),
        cmocka_unit_test(a_file_that_grows_gives_all_events_in_an_allowed_order),
        cmocka_unit_test(losses_are_told),
        cmocka_unit_test(stripes_know_the_classes_of_operations),
        cmocka_unit_test(frees_of_unknown_size_free_what_is_there),
        cmocka_unit_test(calls_keep_their_objects_when_they_are_merged),
        cmocka_unit_test(ten_thousand_waiting_threads_take_little_memory),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
