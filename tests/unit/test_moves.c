/* test_moves.c - moves on a stack, and repeats: their way through columns and back
 *
 * The reference is the plain list of events that they stand for.
 */
#include "hdl_tools.h"
#include "abi/rt_ring.h"
#include "trace/hdl/codec.h"
#include "trace/hdl/encode_raw.h"

enum { MOVES = 50, RECORDS = 3000, FUNCTIONS = 9, SITES = 300, THREAD = 3 };

/* ---- the table ---- */

static void add_names(struct tables *t)
{
    char name[16];

    for (int i = 0; i < FUNCTIONS; i++)
        intern_append(&t->functions, name, (size_t)snprintf(name, sizeof(name), "f%d", i));
    for (int i = 0; i < SITES; i++)
        intern_append(&t->sites, name, (size_t)snprintf(name, sizeof(name), "s%d", i));
    for (int i = 0; i <= THREAD; i++)
        intern_append(&t->threads, name, (size_t)snprintf(name, sizeof(name), "T%d", i));
}

static unsigned random_frames(uint64_t *seed, struct move_frame *frames, unsigned *left)
{
    unsigned n = 1 + (unsigned)below(seed, below(seed, 8) ? 4 : MOVE_FRAMES_MAX);

    *left = (unsigned)below(seed, n + 1);
    for (unsigned i = 0; i < n; i++) {
        frames[i].function = (uint32_t)below(seed, FUNCTIONS);
        frames[i].site = below(seed, 9) ? (uint32_t)below(seed, SITES) : SITE_NONE;
    }
    return n;
}

static void add_moves(struct tables *t, uint64_t *seed)
{
    struct move_frame frames[MOVE_FRAMES_MAX];
    unsigned left, n;

    while (t->moves.count < MOVES) {
        n = random_frames(seed, frames, &left);
        moves_put(&t->moves, frames, left, n - left);
    }
}

static void equal_moves_have_one_number(void **state)
{
    struct move_frame a[2] = { { 1, 2 }, { 3, SITE_NONE } }, b[2] = { { 1, 2 }, { 3, 4 } };
    struct moves m = { 0 };

    (void)state;
    assert_int_equal(moves_put(&m, a, 1, 1), 0);
    assert_int_equal(moves_put(&m, b, 1, 1), 1);
    assert_int_equal(moves_put(&m, a, 2, 0), 2); /* the same frames, all left */
    assert_int_equal(moves_put(&m, a, 1, 1), 0);
    assert_int_equal(moves_put(&m, b, 1, 1), 1);
    assert_int_equal(m.count, 3);
    moves_release(&m);
}

static void moves_go_into_a_file_and_back(void **state)
{
    struct tables t = { 0 };
    struct moves again = { 0 };
    struct buf b = { 0 };
    const uint8_t *at, *end;
    uint64_t seed = 1;

    (void)state;
    add_moves(&t, &seed);
    for (uint32_t i = 0; i < t.moves.count; i++)
        moves_encode(&t.moves, i, &b);
    at = (const uint8_t *)b.data;
    end = at + b.len;
    while (at < end)
        assert_true(moves_decode(&again, &at, end, FUNCTIONS, SITES));
    assert_int_equal(again.count, t.moves.count);
    assert_memory_equal(again.at, t.moves.at, again.count * sizeof(*again.at));
    assert_memory_equal(again.frames, t.moves.frames, again.nframes * sizeof(*again.frames));
    moves_release(&again);
    tables_release(&t);
    buf_release(&b);
}

static void impossible_moves_are_refused(void **state)
{
    static const struct {
        uint8_t bytes[8];
        size_t n;
    } bad[] = {
        { { 0, 0 }, 2 },                /* nothing moves */
        { { 1 }, 1 },                   /* cut off */
        { { 1, 0, 1 }, 3 },             /* cut off */
        { { 33, 32, 1, 1, 1, 1 }, 6 },  /* too many frames */
        { { 0x80, 1, 0, 1, 1 }, 5 },    /* 128 frames */
        { { 1, 0, FUNCTIONS, 0 }, 4 },  /* no such function */
        { { 0, 1, 0, 0xad, 0x02 }, 5 }, /* site SITES + 1 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const uint8_t *at = bad[i].bytes;
        struct moves m = { 0 };

        if (moves_decode(&m, &at, at + bad[i].n, FUNCTIONS, SITES))
            fail_msg("case %zu was taken", i);
        moves_release(&m);
    }
}

/* ---- chunks ---- */

static void pack(const struct encoder *e, uint64_t stamp, struct hdl_chunk_header *h, struct buf *b)
{
    struct hdl_column_header columns[COLUMNS] = { 0 };

    b->len = 0;
    buf_add(b, columns, sizeof(columns));
    for (int i = 0; i < COLUMNS; i++) {
        size_t before = b->len;

        if (i == COL_SHAPES && e->nshapes) {
            buf_addch(b, (char)e->nshapes);
            buf_add(b, e->shapes, e->nshapes * sizeof(e->shapes[0]));
        }
        if (e->columns[i].len)
            buf_add(b, e->columns[i].data, e->columns[i].len);
        columns[i].raw_bytes = columns[i].stored_bytes = (uint32_t)(b->len - before);
    }
    memcpy(b->data, columns, sizeof(columns));
    *h = (struct hdl_chunk_header){ .kind = HDL_THREAD,
                                    .flags = (uint8_t)((e->moves ? CHUNK_MOVES : 0) |
                                                       (e->repeats ? CHUNK_REPEATS : 0)),
                                    .context_bits = (uint8_t)e->context.bits,
                                    .stored_bytes = (uint32_t)b->len,
                                    .count = e->count,
                                    .subject = THREAD,
                                    .stamp_first = stamp };
}

/* Records of a thread as the runtime writes them, the events with OP_MOVE, and without. */
struct run {
    uint64_t words[4 * RECORDS];
    size_t nwords;
    struct event events[RECORDS * STEPS_MAX];
    uint64_t stamps[RECORDS * STEPS_MAX], sequences[RECORDS * STEPS_MAX];
    size_t n;
    bool steps; /* some records are several accesses */
    struct event plain[RECORDS * MOVE_FRAMES_MAX];
    uint64_t plain_stamps[RECORDS * MOVE_FRAMES_MAX], plain_sequences[RECORDS * MOVE_FRAMES_MAX];
    size_t nplain;
};

static void add_event(struct run *r, struct event ev, uint64_t stamp)
{
    r->stamps[r->n] = stamp;
    r->events[r->n++] = ev;
}

static void add_move(struct run *r, const struct moves *m, uint32_t number, uint64_t stamp)
{
    unsigned n = move_events(&m->at[number]);

    r->words[r->nwords++] = RING_WORD(R_MOVE, 0, number);
    add_event(r, (struct event){ .op = OP_MOVE, .thread = THREAD, .target = number, .size = n },
              stamp);
    move_expand(m, number, THREAD, r->plain + r->nplain);
    for (unsigned i = 0; i < n; i++)
        r->plain_stamps[r->nplain++] = stamp;
}

/* An event that stands for itself. */
static void add_plain(struct run *r, struct event ev, uint64_t stamp)
{
    add_event(r, ev, stamp);
    r->plain_stamps[r->nplain] = stamp;
    r->plain[r->nplain++] = ev;
}

static void add_access(struct run *r, uint64_t *seed, uint64_t stamp)
{
    uint32_t site = (uint32_t)below(seed, below(seed, 3) ? 5 : SITES), log = site % 4;
    uint64_t bytes = below(seed, 10) ? UINT64_C(1) << log : 1 + below(seed, 1000);
    bool write = below(seed, 2), range = bytes != UINT64_C(1) << log;
    struct event ev = { .op = write ? OP_WRITE : OP_READ,
                        .thread = THREAD,
                        .site = site,
                        .size = (uint32_t)bytes,
                        .target = 0x1000 + below(seed, 64) * 8 };

    if (range) {
        r->words[r->nwords++] = RING_WORD(R_RANGE, write, ev.target);
        r->words[r->nwords++] = site;
        r->words[r->nwords++] = bytes;
    } else {
        r->words[r->nwords++] = RING_WORD(R_ACCESS, write | log << ACCESS_SIZE_SHIFT, ev.target);
        r->words[r->nwords++] = site;
    }
    add_plain(r, ev, stamp);
}

static void add_steps(struct run *r, uint64_t *seed, uint64_t stamp)
{
    uint32_t site = (uint32_t)below(seed, 5), log = site % 4;
    uint64_t n = 2 + below(seed, below(seed, 3) ? 3 : STEPS_MAX - 1);
    int64_t step = (int64_t)below(seed, 200) - 100;
    bool write = below(seed, 2);
    struct event ev = { .op = write ? OP_WRITE : OP_READ,
                        .thread = THREAD,
                        .site = site,
                        .size = 1u << log,
                        .target = 0x10000 + below(seed, 64) * 8 };

    r->words[r->nwords++] =
        RING_WORD(R_ACCESS, write | log << ACCESS_SIZE_SHIFT | ACCESS_STEPS, ev.target);
    r->words[r->nwords++] = ring_steps_word(site, (unsigned)n, step);
    for (; n; n--, ev.target += (uint64_t)step)
        add_plain(r, ev, stamp);
}

/* An operation that has a sequence number, at an address of the program or at a site. */
static void add_other(struct run *r, uint64_t *seed, uint64_t stamp)
{
    uint64_t place = below(seed, SITES), number = 1 + below(seed, 1000), object = 0x9000;
    uint64_t where = below(seed, 2) ? WHERE_PC | (0x400000 + place) : place, *w;
    struct event ev = { .thread = THREAD, .site = (uint32_t)place, .target = object };

    w = r->words + r->nwords;
    w[1] = where;
    w[2] = number;
    r->nwords += 3;
    switch (below(seed, 5)) {
    case 0:
        ev.op = OP_ACQUIRE;
        ev.flags = below(seed, 2) ? EV_BARE : 0;
        w[0] = RING_WORD(R_SYNC, OP_ACQUIRE, object | (ev.flags ? RING_MARK : 0));
        break;
    case 1:
        ev.op = OP_RELEASE;
        w[0] = RING_WORD(R_SYNC, OP_RELEASE, object);
        break;
    case 2:
        ev.op = OP_STORE;
        ev.order = ORDER_RELEASE;
        ev.size = 4;
        w[0] = RING_WORD(R_ATOMIC, (OP_STORE - OP_LOAD) | 2 << 2, object);
        w[2] = number << 8 | ORDER_RELEASE;
        break;
    default:
        ev.op = below(seed, 2) ? OP_ALLOC : OP_FREE;
        w[2] = below(seed, 3) * 16;
        ev.value = ev.op == OP_ALLOC && !w[2] ? 1 : w[2];
        w[0] = RING_WORD(R_MEMORY, ev.op, object);
        w[3] = number;
        r->nwords++;
    }
    r->sequences[r->n] = r->plain_sequences[r->nplain] = number;
    add_plain(r, ev, stamp);
}

static struct run *random_run(uint64_t *seed, const struct moves *m, bool steps)
{
    struct run *r = xcalloc(1, sizeof(*r));
    uint64_t stamp = 100;

    r->steps = steps;
    for (int i = 0; i < RECORDS - 1; i++) {
        if (!below(seed, 20)) {
            stamp += below(seed, 9);
            r->words[r->nwords++] = RING_WORD(R_STAMP, 0, stamp);
        } else if (!below(seed, 10)) {
            add_other(r, seed, stamp);
        } else if (steps && !below(seed, 4)) {
            add_steps(r, seed, stamp);
        } else if (below(seed, 3)) {
            add_access(r, seed, stamp);
        } else { /* a few often, all sometimes */
            add_move(r, m, (uint32_t)below(seed, below(seed, 4) ? 4 : MOVES), stamp);
        }
    }
    return r;
}

static uint64_t stamp_of(void *arg, uint64_t word)
{
    (void)arg;
    return word & RING_LOW;
}

static bool move_is_known(void *arg, uint64_t word)
{
    const struct moves *m = arg;

    return (word & RING_LOW) < m->count;
}

static uint64_t move_of(void *arg, uint64_t word)
{
    const struct moves *m = arg;
    uint32_t number = (uint32_t)word;

    return number | (uint64_t)move_events(&m->at[number]) << 32;
}

static uint32_t pc_site(void *arg, uint64_t pc)
{
    (void)arg;
    return (uint32_t)(pc - 0x400000);
}

/* Both ways must write the same bytes, unless there are steps. */
static void encode_both(struct run *r, const struct moves *m, struct encoder *events,
                        struct encoder *raw)
{
    static uint64_t place[SITES];
    uint64_t *pages[1] = { place };
    struct raw_run run = { .at = r->words,
                           .end = r->words + r->nwords,
                           .thread = THREAD,
                           .stamp = 100,
                           .pages = pages,
                           .page_bits = 16,
                           .stamp_of = stamp_of,
                           .move_of = move_of,
                           .move_is_known = move_is_known,
                           .pc_site = pc_site,
                           .arg = (void *)m };

    for (uint32_t i = 0; i < SITES; i++)
        place[i] = UINT64_C(1) << 63 | i;
    encoder_start(events, 100);
    encoder_start(raw, 100);
    assert_int_equal(
        encoder_add(events, r->events, r->n, NULL, r->sequences, r->stamps, CHUNK_EVENTS_MAX),
        r->n);
    assert_true(raw_run_is_common(&run) || *run.at >> 56 == R_STAMP);
    encoder_add_raw(raw, &run, CHUNK_EVENTS_MAX);
    raw_run_take_stamps(&run);
    assert_ptr_equal(run.at, run.end);
}

static void expect(const struct run *r, const struct hdl_chunk_header *h, const struct buf *payload,
                   const struct tables *t)
{
    static struct event got[700];
    static uint64_t sequence[700], stamp[700];
    struct decoder d = { 0 };
    struct error err = { "" };
    size_t done = 0;
    long n;

    if (decoder_start(&d, h, (const uint8_t *)payload->data, &err) < 0)
        fail_msg("%s", err.text);
    while ((n = decoder_next(&d, t, got, 1 + done % 700, sequence, stamp, &err)) > 0) {
        assert_memory_equal(got, r->plain + done, (size_t)n * sizeof(*got));
        assert_memory_equal(stamp, r->plain_stamps + done, (size_t)n * sizeof(*stamp));
        assert_memory_equal(sequence, r->plain_sequences + done, (size_t)n * sizeof(*stamp));
        done += (size_t)n;
    }
    if (n < 0)
        fail_msg("%s", err.text);
    assert_int_equal(done, r->nplain);
    decoder_release(&d);
}

static void expect_same_columns(const struct encoder *a, const struct encoder *b)
{
    for (int i = 0; i < COLUMNS; i++) {
        assert_int_equal(a->columns[i].len, b->columns[i].len);
        if (b->columns[i].len)
            assert_memory_equal(a->columns[i].data, b->columns[i].data, b->columns[i].len);
    }
}

static void moves_and_repeats_come_back_as_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct tables t = { 0 };
        struct encoder events, raw;
        struct hdl_chunk_header h;
        struct buf payload = { 0 };
        uint64_t s = seed;
        struct run *r;

        add_names(&t);
        add_moves(&t, &s);
        encoder_init(&events, 1 + seed % 9, true);
        encoder_init(&raw, 1 + seed % 9, true);
        r = random_run(&s, &t.moves, seed % 2);
        encode_both(r, &t.moves, &events, &raw);
        assert_int_equal(events.count, r->nplain);
        assert_int_equal(raw.count, r->nplain);
        assert_int_equal(raw.repeats, r->steps);
        if (!r->steps)
            expect_same_columns(&events, &raw);
        pack(&raw, 100, &h, &payload);
        expect(r, &h, &payload, &t);
        free(r);
        buf_release(&payload);
        encoder_release(&events);
        encoder_release(&raw);
        tables_release(&t);
    }
}

/* A chunk never has more events than asked for. */
static void a_move_that_does_not_fit_starts_the_next_chunk(void **state)
{
    struct move_frame frames[3] = { { 0, 0 }, { 0, 0 }, { 0, 0 } };
    struct event e[4];
    uint64_t none[4] = { 0 };
    struct tables t = { 0 };
    struct encoder x;

    (void)state;
    moves_put(&t.moves, frames, 1, 2);
    for (int i = 0; i < 4; i++)
        e[i] = (struct event){ .op = OP_MOVE, .thread = THREAD, .size = 3 };
    encoder_init(&x, 4, true);
    encoder_start(&x, 0);
    assert_int_equal(encoder_add(&x, e, 4, NULL, none, none, 8), 2);
    assert_int_equal(x.count, 6);
    encoder_release(&x);
    tables_release(&t);
}

static void damaged_moves_are_refused(void **state)
{
    enum { PLACE = COLUMNS * 8 }; /* of the first flag byte */
    static const struct {
        unsigned flags, chunk;
        const char *why;
    } bad[] = {
        { TARGET_MOVE << 4 | 1 << 1, CHUNK_MOVES, NULL },
        { TARGET_MOVE << 4 | 1 << 1, 0, "no shapes" },
        { 7 << 4 | 1 << 1, CHUNK_MOVES, "unknown kind of target" },
        { TARGET_MOVE << 4, CHUNK_MOVES, "event 0: damaged" }, /* none is expected */
        { TARGET_MOVE << 4 | 1 << 1 | FLAG_SHAPE, CHUNK_MOVES, "event 0: damaged" },
        { TARGET_MOVE << 4 | 1 << 1 | FLAG_VALUE, CHUNK_MOVES, "event 0: damaged" },
    };
    struct move_frame frame = { 0, 0 };
    struct event e = { .op = OP_MOVE, .thread = THREAD, .size = 1 }, got;
    uint64_t none = 0, sequence, stamp;
    struct tables t = { 0 };
    struct encoder x;
    struct hdl_chunk_header h;
    struct buf payload = { 0 };

    (void)state;
    add_names(&t);
    moves_put(&t.moves, &frame, 1, 0);
    encoder_init(&x, 4, true);
    encoder_start(&x, 0);
    encoder_add(&x, &e, 1, NULL, &none, &none, 8);
    pack(&x, 0, &h, &payload);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct decoder d = { 0 };
        struct error err = { "" };
        bool good;

        payload.data[PLACE] = (char)bad[i].flags;
        h.flags = (uint8_t)bad[i].chunk;
        good = decoder_start(&d, &h, (const uint8_t *)payload.data, &err) == 0 &&
               decoder_next(&d, &t, &got, 1, &sequence, &stamp, &err) == 1;
        assert_int_equal(good, !bad[i].why);
        if (bad[i].why)
            assert_string_equal(err.text, bad[i].why);
        decoder_release(&d);
    }
    encoder_release(&x);
    buf_release(&payload);
    tables_release(&t);
}

/* A record of four accesses, as the writer's quick way encodes it: an event and a repeat. */
static void encode_steps(struct encoder *x, uint32_t limit, uint64_t *left)
{
    static uint64_t place[1] = { UINT64_C(1) << 63 };
    uint64_t *pages[1] = { place };
    uint64_t words[2] = { RING_WORD(R_ACCESS, 2 << ACCESS_SIZE_SHIFT | ACCESS_STEPS, 0x1000),
                          UINT64_C(4) << 32 | UINT64_C(16) << 48 };
    struct raw_run run = {
        .at = words, .end = words + 2, .thread = THREAD, .pages = pages, .page_bits = 16
    };

    encoder_start(x, 0);
    encoder_add_raw(x, &run, limit);
    *left = (uint64_t)(run.end - run.at);
}

static void a_repeat_that_does_not_fit_starts_the_next_chunk(void **state)
{
    struct encoder x;
    uint64_t left;

    (void)state;
    encoder_init(&x, 4, true);
    encode_steps(&x, 3, &left);
    assert_int_equal(x.count, 0);
    assert_int_equal(left, 2);
    encode_steps(&x, 4, &left);
    assert_int_equal(x.count, 4);
    assert_int_equal(left, 0);
    encoder_release(&x);
}

static void damaged_repeats_are_refused(void **state)
{
    enum { FLAGS = COLUMNS * 8 };
    static const struct {
        unsigned flags, chunk, again;
        const char *why;
    } bad[] = {
        { TARGET_REPEAT << 4, CHUNK_REPEATS, 3, NULL },
        { TARGET_REPEAT << 4, CHUNK_MOVES, 3, "unknown kind of target" },
        { TARGET_REPEAT << 4, CHUNK_REPEATS, 0, "event 1: damaged" },
        { TARGET_REPEAT << 4, CHUNK_REPEATS, REPEATS_MAX + 1, "event 1: damaged" },
        { TARGET_REPEAT << 4, CHUNK_REPEATS, 2, "event 3: damaged" }, /* one is missing */
        { TARGET_REPEAT << 4, CHUNK_REPEATS, 4, "bytes are left over behind the last event" },
        { TARGET_REPEAT << 4 | FLAG_SHAPE, CHUNK_REPEATS, 3, "event 1: damaged" },
        { TARGET_REPEAT << 4 | FLAG_SWITCH, CHUNK_REPEATS, 3, "event 1: damaged" },
    };
    struct tables t = { 0 };
    struct encoder x;
    struct hdl_chunk_header h;
    struct buf payload = { 0 };
    uint64_t left, sequence[8], stamp[8];
    size_t sizes;

    (void)state;
    add_names(&t);
    encoder_init(&x, 4, true);
    encode_steps(&x, 8, &left);
    pack(&x, 0, &h, &payload);
    assert_int_equal((uint8_t)payload.data[FLAGS + 1], TARGET_REPEAT << 4);
    sizes = payload.len - x.columns[COL_SIZES].len; /* the last that has anything */
    assert_int_equal(payload.data[sizes], 3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct decoder d = { 0 };
        struct error err = { "" };
        struct event got[8];
        bool good;

        payload.data[FLAGS + 1] = (char)bad[i].flags;
        payload.data[sizes] = (char)bad[i].again;
        h.flags = (uint8_t)bad[i].chunk;
        good = decoder_start(&d, &h, (const uint8_t *)payload.data, &err) == 0 &&
               decoder_next(&d, &t, got, 8, sequence, stamp, &err) == 4;
        if (good != !bad[i].why || (!good && strcmp(err.text, bad[i].why) != 0))
            fail_msg("case %zu: %s", i, good ? "taken" : err.text);
        decoder_release(&d);
    }
    encoder_release(&x);
    buf_release(&payload);
    tables_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_moves_have_one_number),
        cmocka_unit_test(moves_go_into_a_file_and_back),
        cmocka_unit_test(impossible_moves_are_refused),
        cmocka_unit_test(moves_and_repeats_come_back_as_events),
        cmocka_unit_test(a_move_that_does_not_fit_starts_the_next_chunk),
        cmocka_unit_test(damaged_moves_are_refused),
        cmocka_unit_test(a_repeat_that_does_not_fit_starts_the_next_chunk),
        cmocka_unit_test(damaged_repeats_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
