/* test_stretch.c - stretches: shapes in files, records through encoder and decoder
 *
 * What a record stands for is said here once more, from docs/format/hdl.md; random records go
 * through chunks of kind 9, mixed with other events, by each of the encoder's three ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "abi/rt_ring.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/encode_stretch.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHAPES = 60,
    SITES = 500,
    FUNCTIONS = 9,
    THREAD = 1,
    PAGE_BITS = 16,
    RECORDS = 3000,
    EVENTS_MAX = 1 << 18
};

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % below;
}

/* ---- shapes ---- */

/* A value that follows from none, or from one before. */
static void tell_value(struct stretch_access *a, unsigned i)
{
    unsigned back = i ? (unsigned)next_random(i + 1) : 0;

    if (!a[i].write || a[i].log > 3 || next_random(2))
        return;
    a[i].told = true;
    a[i].value_offset = (int32_t)(next_random(UINT64_C(1) << 32) >> next_random(32));
    if (back && a[i - back].log <= 3 && a[i - back].log >= a[i].log)
        a[i].value_from = (uint8_t)back;
}

/* Of a path: with branches between, and blocks that begin. */
static void make_path(struct stretch_access *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (i && next_random(4) == 0)
            a[i].begins = (uint8_t)(1 + next_random(2));
        if (next_random(5) == 0)
            a[i] = (struct stretch_access){ .site = a[i].site,
                                            .log = STRETCH_DECIDED,
                                            .offset = (int32_t)next_random(256) };
    }
    for (unsigned i = 0; i < n; i++)
        if (a[i].from && a[i - (a[i].from & FROM_BACK)].log == STRETCH_DECIDED)
            a[i].from = 0, a[i].offset = 0;
    for (unsigned i = 0; i < n; i++)
        tell_value(a, i);
}

static unsigned random_shape(struct stretch_access *a)
{
    unsigned n = (unsigned)next_random(next_random(4) ? 9 : 15);

    for (unsigned i = 0; i < n; i++) {
        unsigned back = i ? 1 + (unsigned)next_random(i) : 0;
        bool value = back && a[i - back].log == 3 && next_random(2);

        a[i] = (struct stretch_access){ .site = (uint32_t)next_random(SITES),
                                        .log = (uint8_t)next_random(5),
                                        .write = next_random(2) };
        if (back && next_random(2)) {
            a[i].from = (uint8_t)(back | (value ? FROM_VALUE : 0));
            a[i].offset = (int32_t)(next_random(4000) - 2000);
        }
    }
    return n;
}

/* Of a path: with the function's entry before, and its exit behind. */
static unsigned add_frame(struct stretch_access *a, unsigned n, bool *exits)
{
    const struct stretch_access frame = { .site = (uint32_t)next_random(SITES),
                                          .offset = (int32_t)next_random(FUNCTIONS) };

    if (next_random(2)) {
        memmove(a + 1, a, n++ * sizeof(*a));
        a[0] = frame;
        a[0].log = STRETCH_ENTER;
    }
    *exits = next_random(2);
    if (*exits) {
        a[n] = frame;
        a[n++].log = STRETCH_EXIT;
    }
    return n;
}

static void fill(struct stretches *s)
{
    struct stretch_access a[STRETCH_ACCESSES_MAX];

    while (s->count < SHAPES) {
        unsigned n = random_shape(a), flags = 0;
        bool branches, exits = false;

        if (next_random(2)) {
            flags |= STRETCH_LONG;
            make_path(a, n);
            n = add_frame(a, n, &exits);
        }
        branches = !exits && (!n || next_random(2));
        flags |= branches ? STRETCH_BRANCHES : 0;
        assert_true(
            stretches_add(s, a, n, flags, branches ? (uint32_t)next_random(SITES) : SITE_NONE));
    }
}

static void shapes_come_back(void **state)
{
    struct stretches s = { 0 }, again = { 0 };
    struct buf b = { 0 };
    const uint8_t *at;

    (void)state;
    fill(&s);
    for (uint32_t i = 0; i < s.count; i++)
        stretches_encode(&s, i, &b);
    at = (const uint8_t *)b.data;
    for (uint32_t i = 0; i < s.count; i++)
        assert_true(
            stretches_decode(&again, &at, (const uint8_t *)b.data + b.len, SITES, FUNCTIONS));
    assert_ptr_equal(at, b.data + b.len);
    assert_false(stretches_decode(&again, &at, at, SITES, FUNCTIONS));
    for (uint32_t i = 0; i < s.count; i++) {
        const struct stretch *x = &s.at[i], *y = &again.at[i];

        assert_true(x->accesses == y->accesses && x->words == y->words &&
                    x->branches == y->branches && x->branch_site == y->branch_site &&
                    x->is_long == y->is_long && x->frame == y->frame);
    }
    assert_int_equal(s.naccesses, again.naccesses);
    for (size_t i = 0; i < s.naccesses; i++) {
        const struct stretch_access *x = &s.accesses[i], *y = &again.accesses[i];

        assert_true(x->site == y->site && x->offset == y->offset && x->from == y->from &&
                    x->log == y->log && x->write == y->write && x->value_at == y->value_at &&
                    x->begins == y->begins && x->told == y->told &&
                    x->value_from == y->value_from && x->value_offset == y->value_offset);
    }
    buf_release(&b);
    stretches_release(&s);
    stretches_release(&again);
}

static void expect_refused(const char *bytes, size_t n)
{
    struct stretches s = { 0 };
    const uint8_t *at = (const uint8_t *)bytes;

    assert_false(stretches_decode(&s, &at, at + n, SITES, FUNCTIONS));
    assert_int_equal(s.count, 0);
    stretches_release(&s);
}

static void impossible_shapes_are_refused(void **state)
{
    struct stretch_access big[STRETCH_ACCESSES_MAX] = { 0 };
    struct stretches s = { 0 };

    (void)state;
    expect_refused("\x00", 1);                             /* nothing at all */
    expect_refused("\x82\x01", 2);                         /* 65 accesses */
    expect_refused("\x81\x04\x00", 3);                     /* unknown flag */
    expect_refused("\x02\x01\x0e", 3);                     /* a branch without its outcome */
    expect_refused("\x02\x01\x0e\x01", 4);                 /* outcome -1 */
    expect_refused("\x02\x01\x0e\x80\x04", 5);             /* outcome 256 */
    expect_refused("\x04\x01\x0e\x02\x01\x16\x02", 7);     /* an address from a branch */
    expect_refused("\x02\x01", 2);                         /* cut */
    expect_refused("\x02\xf4\x03\x00", 4);                 /* site 500 */
    expect_refused("\x02\x01\x0a\x00", 4);                 /* an entry of one that is not long */
    expect_refused("\x82\x02\x01\x0a", 4);                 /* an entry without its function */
    expect_refused("\x82\x02\x01\x0a\x12", 5);             /* function 9 */
    expect_refused("\x82\x02\x01\x0a\x01", 5);             /* function -1 */
    expect_refused("\x82\x02\x01\x0b\x00", 5);             /* it writes */
    expect_refused("\x84\x02\x01\x00\x01\x0a\x00", 7);     /* an entry behind an access */
    expect_refused("\x84\x02\x01\x0c\x00\x01\x00", 7);     /* an exit before one */
    expect_refused("\x83\x02\x01\x0c\x00\x01", 6);         /* an exit before a branch */
    expect_refused("\x84\x02\x01\x0a\x00\x01\x16\x02", 8); /* an address from an entry */
    expect_refused("\x02\x01\x16\x02", 4);                 /* from an access before the first */
    expect_refused("\x04\x01\x04\x01\x94\x10", 6);         /* from a value of 4 bytes, cut */
    expect_refused("\x04\x01\x04\x01\x94\x10\x02", 7);
    expect_refused("\x04\x01\x06\x01\x86\x10\x02", 7);              /* from itself */
    expect_refused("\x04\x01\x06\x01\x16\x80\x80\x80\x80\x20", 10); /* offset too far */
    expect_refused("\x02\x01\x87\x80\x01\x01\x02", 7);         /* a value from before the first */
    expect_refused("\x02\x01\x86\x80\x01\x00\x02", 7);         /* a read's value */
    expect_refused("\x02\x01\x89\x80\x01\x00\x02", 7);         /* 16 bytes */
    expect_refused("\x02\x01\x87\x80\x01\x00", 6);             /* cut */
    expect_refused("\x04\x01\x04\x01\x87\x80\x01\x01\x02", 9); /* from fewer bytes */
    expect_refused("\x02\x01\x87\x80\x02\x00\x02", 7);         /* unknown bit */
    expect_refused("\x01\xf4\x03", 3);                         /* branch at site 500 */
    for (unsigned i = 0; i < STRETCH_ACCESSES_MAX; i++)
        big[i].log = 3;
    assert_false(stretches_add(&s, big, STRETCH_ACCESSES_MAX, false, 0)); /* 456 bytes */
    assert_true(stretches_add(&s, big, 17, true, 0));                     /* 248 */
    stretches_release(&s);
}

/* ---- records ---- */

/* What went in, event by event. */
struct expected {
    struct event *events;
    uint64_t *stamps;
    size_t count;
};

static uint64_t piece(const uint8_t *record, unsigned *small, unsigned *next, unsigned bytes)
{
    unsigned *place = *small + bytes <= 7 ? small : next;
    uint64_t v = 0;

    memcpy(&v, record + *place, bytes);
    *place += bytes;
    return v;
}

/* The places of the document: bytes used, and what stands next. */
struct reader {
    const uint8_t *record;
    unsigned small, next;
};

/* The accesses of one block. */
static void expect_block(struct reader *r, const struct stretch_access *a, unsigned n,
                         struct event *ev)
{
    if (n && a->begins == BLOCK_BEGINS_WORD)
        r->next = (r->next + 7) / 8 * 8;
    for (unsigned i = 0; i < n; i++) {
        ev[i].target = a[i].from || a[i].log > 4 ? 0 : piece(r->record, &r->small, &r->next, 6);
        if (a[i].log == 5)
            ev[i].value = piece(r->record, &r->small, &r->next, 8);
    }
    for (unsigned i = 0; i < n; i++) {
        bool branch = a[i].log == 7;

        if (a[i].log == 5 || a[i].log == 6) {
            ev[i] = (struct event){ .target = (uint64_t)a[i].offset,
                                    .thread = THREAD,
                                    .site = a[i].log == 5 ? (uint32_t)ev[i].value : a[i].site,
                                    .op = a[i].log == 5 ? OP_ENTER : OP_EXIT };
            continue;
        }

        ev[i].value = branch ? (uint64_t)a[i].offset
                      : a[i].log == 4 || a[i].told
                          ? 0
                          : piece(r->record, &r->small, &r->next, 1u << a[i].log);
        ev[i].flags = a[i].log == 4 ? 0 : EV_VALUE;
        ev[i].thread = THREAD;
        ev[i].site = a[i].site;
        ev[i].size = branch ? 0 : 1u << a[i].log;
        ev[i].op = branch ? OP_BRANCH : a[i].write ? OP_WRITE : OP_READ;
    }
}

static struct reader expect_accesses(const struct stretches *s, uint32_t number,
                                     const uint64_t *words, struct event *ev)
{
    const struct stretch *x = &s->at[number];
    const struct stretch_access *a = s->accesses + x->first;
    struct reader r = { (const uint8_t *)words, x->is_long ? 7 : x->branches ? 5 : 4, 8 };

    for (unsigned i = 0, end; i < x->accesses; i = end) {
        for (end = i + 1; end < x->accesses && !a[end].begins;)
            end++;
        expect_block(&r, a + i, end - i, ev + i);
    }
    return r;
}

/* From the document. */
static void expect_record(struct expected *to, const struct stretches *s, uint32_t number,
                          const uint64_t *words, uint64_t stamp)
{
    const struct stretch_access *a = s->accesses + s->at[number].first;
    struct event *ev = to->events + to->count;
    unsigned n = s->at[number].accesses;

    expect_accesses(s, number, words, ev);
    for (unsigned i = 0; i < n; i++) {
        const struct event *base = &ev[i] - a[i].from % 128;

        if (a[i].told && a[i].value_from)
            ev[i].value = ev[i - a[i].value_from].value;
        if (a[i].told)
            ev[i].value += (uint64_t)(int64_t)a[i].value_offset;
        if (a[i].told && a[i].log < 3)
            ev[i].value %= UINT64_C(1) << (8 << a[i].log);
        if (a[i].from)
            ev[i].target =
                ((a[i].from & 128 ? base->value : base->target) + (uint64_t)(int64_t)a[i].offset) %
                (UINT64_C(1) << 48);
    }
    if (s->at[number].branches)
        ev[n++] = (struct event){ .value = ((const uint8_t *)words)[4],
                                  .thread = THREAD,
                                  .site = s->at[number].branch_site,
                                  .op = OP_BRANCH,
                                  .flags = EV_VALUE };
    for (unsigned i = 0; i < n; i++)
        to->stamps[to->count++] = stamp;
}

/* A record much like the last of the stretch; process numbers are 10 above the trace's. */
static size_t random_record(const struct stretches *s, uint32_t number, uint64_t *w)
{
    static uint64_t last[SHAPES][STRETCH_WORDS_MAX];
    struct event ignored[STRETCH_ACCESSES_MAX];
    unsigned words = s->at[number].words;
    struct reader r;

    for (uint64_t n = next_random(6); n; n--)
        ((uint8_t *)last[number])[next_random(8 * words)] = (uint8_t)next_random(256);
    memcpy(w, last[number], 8 * words);
    r = expect_accesses(s, number, w, ignored);
    memset((char *)w + r.next, 0, 8 * words - r.next);
    if (s->at[number].frame & FRAME_ENTERED)
        w[1] = next_random(8) ? next_random(SITES) : SITE_NONE;
    w[0] = (w[0] & STRETCH_DATA) | (number + 10) | (uint64_t)(STRETCH_MARK | words) << 56;
    for (unsigned i = s->at[number].is_long ? 5 : r.small; i < 7; i++)
        ((uint8_t *)w)[i] = 0;
    return words;
}

static void pack(const struct encoder *e, struct buf *to)
{
    struct hdl_column_header columns[COLUMNS_MIXED];
    struct buf data = { 0 };

    for (int i = 0; i < COLUMNS_MIXED; i++) {
        size_t before = data.len;

        if (i == COL_SHAPES && e->nshapes) {
            buf_addch(&data, (char)e->nshapes);
            buf_add(&data, e->shapes, e->nshapes * sizeof(e->shapes[0]));
        }
        if (e->columns[i].len)
            buf_add(&data, e->columns[i].data, e->columns[i].len);
        columns[i].raw_bytes = columns[i].stored_bytes = (uint32_t)(data.len - before);
    }
    to->len = 0;
    buf_add(to, columns, sizeof(columns));
    buf_add(to, data.data, data.len);
    buf_release(&data);
}

static void expect_chunk(struct encoder *e, const struct tables *t, const struct expected *want)
{
    static struct event got[300];
    static uint64_t sequence[300], stamp[300];
    struct hdl_chunk_header h = { .kind = HDL_MIXED, .context_bits = 9, .subject = THREAD };
    struct decoder d = { 0 };
    struct buf payload = { 0 };
    struct error err = { "" };
    size_t done = 0;
    long n;

    encoder_settle(e);
    pack(e, &payload);
    h.count = e->count;
    h.stored_bytes = (uint32_t)payload.len;
    h.stamp_first = want->stamps[0];
    if (decoder_start(&d, &h, (const uint8_t *)payload.data, &err) < 0)
        fail_msg("%s", err.text);
    while ((n = decoder_next(&d, t, got, 1 + done % 300, sequence, stamp, &err)) > 0) {
        for (long i = 0; i < n; i++) {
            assert_memory_equal(&got[i], &want->events[done + (size_t)i], sizeof(got[i]));
            assert_int_equal(stamp[i], want->stamps[done + (size_t)i]);
        }
        done += (size_t)n;
    }
    if (n < 0)
        fail_msg("%s", err.text);
    assert_int_equal(done, want->count);
    decoder_release(&d);
    buf_release(&payload);
}

/* Some plain accesses between the records. */
static void add_others(struct encoder *e, struct expected *want, uint64_t stamp)
{
    for (uint64_t n = next_random(300); n; n--) {
        struct event ev = { .target = next_random(1000) * 8,
                            .thread = THREAD,
                            .site = (uint32_t)next_random(SITES),
                            .size = 8,
                            .op = OP_WRITE };
        uint64_t none = 0;

        want->events[want->count] = ev;
        want->stamps[want->count++] = stamp;
        assert_int_equal(encoder_add(e, &ev, 1, NULL, &none, &stamp, EVENTS_MAX), 1);
    }
}

static void round_trip(enum stretch_speed speed)
{
    uint64_t *page = xcalloc((size_t)1 << PAGE_BITS, 8), *pages[1] = { page };
    struct raw_run r = { .thread = THREAD, .stretch_pages = pages, .page_bits = PAGE_BITS };
    struct expected want = { xcalloc(EVENTS_MAX, sizeof(struct event)), xcalloc(EVENTS_MAX, 8), 0 };
    static uint64_t words[RECORDS * STRETCH_WORDS_MAX];
    struct tables t = { 0 };
    struct encoder e;
    size_t nwords;

    while (t.sites.count < SITES)
        intern_append(&t.sites, "s", 1);
    while (t.threads.count <= THREAD)
        intern_append(&t.threads, "t", 1);
    while (t.functions.count < FUNCTIONS)
        intern_append(&t.functions, "f", 1);
    fill(&t.stretches);
    for (uint32_t i = 0; i < SHAPES; i++)
        page[i + 10] = stretch_entry(i, &t.stretches.at[i]);
    stretch_speed = speed;
    encoder_init(&e, 9, true);
    for (int chunk = 0; chunk < 5; chunk++) { /* contexts are void in the next one */
        want.count = 0;
        encoder_start(&e, 100);
        r.stamp = 100;
        for (int run = 0; run < 8; run++) {
            nwords = 0;
            for (uint64_t n = 1 + next_random(RECORDS / 8); n; n--) {
                uint32_t number = (uint32_t)next_random(next_random(3) ? 4 : SHAPES);
                size_t at = nwords;

                nwords += random_record(&t.stretches, number, words + at);
                expect_record(&want, &t.stretches, number, words + at, r.stamp);
            }
            r.at = words;
            r.end = words + nwords;
            while (raw_run_is_stretch(&r) && !raw_run_is_unknown(&r))
                assert_true(encoder_add_stretches(&e, &r, EVENTS_MAX) > 0);
            assert_ptr_equal(r.at, r.end);
            r.stamp += next_random(3);
            add_others(&e, &want, r.stamp);
        }
        expect_chunk(&e, &t, &want);
    }
    stretch_speed = STRETCH_WIDE;
    encoder_release(&e);
    tables_release(&t);
    free(want.events);
    free(want.stamps);
    free(page);
}

static void records_come_back_however_they_are_packed(void **state)
{
    (void)state;
    round_trip(STRETCH_PLAIN);
    round_trip(STRETCH_PEXT);
    round_trip(STRETCH_WIDE);
}

static void all_ways_write_the_same(void **state)
{
    static uint64_t words[RECORDS * STRETCH_WORDS_MAX];
    uint64_t *page = xcalloc((size_t)1 << PAGE_BITS, 8), *pages[1] = { page };
    struct stretches s = { 0 };
    struct encoder e[3];
    size_t n = 0;

    (void)state;
    fill(&s);
    for (uint32_t i = 0; i < SHAPES; i++)
        page[i + 10] = stretch_entry(i, &s.at[i]);
    for (int i = 0; i < RECORDS; i++)
        n += random_record(&s, (uint32_t)next_random(SHAPES), words + n);
    for (int i = 0; i < 3; i++) {
        struct raw_run r = { words, words + n, THREAD, 5, NULL, pages, PAGE_BITS };

        stretch_speed = (enum stretch_speed)i;
        encoder_init(&e[i], 9, true);
        encoder_start(&e[i], 1);
        while (r.at < r.end)
            assert_true(encoder_add_stretches(&e[i], &r, EVENTS_MAX) > 0);
        for (int c = 0; c < COLUMNS_MIXED; c++) {
            assert_int_equal(e[i].columns[c].len, e[0].columns[c].len);
            if (e[i].columns[c].len)
                assert_memory_equal(e[i].columns[c].data, e[0].columns[c].data,
                                    e[0].columns[c].len);
        }
    }
    for (int i = 0; i < 3; i++)
        encoder_release(&e[i]);
    stretch_speed = STRETCH_WIDE;
    stretches_release(&s);
    free(page);
}

static void records_of_no_stretch_are_left(void **state)
{
    uint64_t *page = xcalloc((size_t)1 << PAGE_BITS, 8), *pages[1] = { page };
    uint64_t words[] = { 11 | UINT64_C(0x82) << 56, 1, 12 | UINT64_C(0x82) << 56, 2 };
    const struct stretch two = { .accesses = 1, .words = 2 }, three = { .accesses = 1, .words = 3 };
    struct raw_run r = { words, words + 4, THREAD, 5, NULL, pages, PAGE_BITS };
    struct encoder e;

    (void)state;
    page[11] = stretch_entry(0, &two);
    encoder_init(&e, 9, true);
    encoder_start(&e, 1);
    assert_int_equal(encoder_add_stretches(&e, &r, 100), 1);
    assert_ptr_equal(r.at, words + 2);
    assert_true(raw_run_is_unknown(&r)); /* nothing is known of 12 */
    page[12] = stretch_entry(1, &three);
    assert_true(raw_run_is_unknown(&r)); /* it has three words */
    page[12] = stretch_entry(1, &two);
    assert_int_equal(encoder_add_stretches(&e, &r, 1), 0); /* no room in the chunk */
    r.end--;
    assert_int_equal(encoder_add_stretches(&e, &r, 100), 0); /* cut */
    encoder_release(&e);
    free(page);
}

static bool refuse_frame(void *arg, uint64_t *w, unsigned frame)
{
    assert_int_equal(frame, FRAME_ENTERED);
    if (w[1] == 7)
        return false;
    w[1] = *(uint64_t *)arg;
    return true;
}

/* Of one record that enters a function, from site `site`. */
static struct encoder encode_entry(uint64_t site, bool refused)
{
    uint64_t *page = xcalloc((size_t)1 << PAGE_BITS, 8), *pages[1] = { page };
    uint64_t words[] = { 11 | UINT64_C(0x82) << 56, refused ? 7 : 8 };
    const struct stretch enters = { .accesses = 1, .words = 2, .frame = FRAME_ENTERED };
    struct raw_run r = { .at = words,
                         .end = words + 2,
                         .thread = THREAD,
                         .stretch_pages = pages,
                         .page_bits = PAGE_BITS,
                         .take_frame = refuse_frame,
                         .arg = &site };
    struct encoder e;

    page[11] = stretch_entry(0, &enters);
    encoder_init(&e, 9, true);
    encoder_start(&e, 0);
    assert_int_equal(encoder_add_stretches(&e, &r, 100), refused ? 0 : 1);
    assert_int_equal(r.refused, refused);
    assert_ptr_equal(r.at, refused ? words : words + 2);
    free(page);
    return e;
}

static void an_entry_comes_from_a_known_site(void **state)
{
    const struct stretch_access enter = { .log = STRETCH_ENTER };
    struct event ev = { .thread = THREAD, .site = 0, .op = OP_ENTER }, got;
    struct hdl_chunk_header h = { .kind = HDL_MIXED, .context_bits = 9, .subject = THREAD };
    struct expected want = { &ev, &(uint64_t){ 0 }, 1 };
    struct decoder d = { 0 };
    struct tables t = { 0 };
    struct buf payload = { 0 };
    struct error err = { "" };
    struct encoder e;
    uint64_t number;

    (void)state;
    intern_append(&t.sites, "s", 1);
    intern_append(&t.functions, "f", 1);
    intern_append(&t.threads, "t", 1);
    intern_append(&t.threads, "t", 1);
    assert_true(stretches_add(&t.stretches, &enter, 1, STRETCH_LONG, SITE_NONE));
    e = encode_entry(0, false);
    expect_chunk(&e, &t, &want);
    encoder_release(&e);
    e = encode_entry(1, false);
    pack(&e, &payload);
    h.count = 1;
    h.stored_bytes = (uint32_t)payload.len;
    assert_int_equal(decoder_start(&d, &h, (const uint8_t *)payload.data, &err), 0);
    assert_int_equal(decoder_next(&d, &t, &got, 1, &number, &number, &err), -1);
    decoder_release(&d);
    buf_release(&payload);
    encoder_release(&e);
    e = encode_entry(0, true);
    encoder_release(&e);
    tables_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_come_back),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(records_come_back_however_they_are_packed),
        cmocka_unit_test(all_ways_write_the_same),
        cmocka_unit_test(records_of_no_stretch_are_left),
        cmocka_unit_test(an_entry_comes_from_a_known_site),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
