/* test_codec.c - events to columns and back, and what the decoder refuses
 *
 * Chunks are built in memory, with columns stored as they are.
 */
#include "hdl_tools.h"
#include "trace/hdl/codec.h"

struct chunk {
    struct hdl_chunk_header header;
    struct buf payload;
};

/* What hdl_write.c does with an encoder. */
static void pack(const struct encoder *e, uint32_t thread, uint64_t stamp, struct chunk *c)
{
    struct hdl_column_header columns[COLUMNS];
    struct buf data = { 0 };

    for (int i = 0; i < COLUMNS; i++) {
        size_t before = data.len;

        if (i == COL_SHAPES) {
            buf_addch(&data, (char)e->nshapes);
            buf_add(&data, e->shapes, e->nshapes * sizeof(e->shapes[0]));
        }
        if (e->columns[i].len)
            buf_add(&data, e->columns[i].data, e->columns[i].len);
        columns[i].raw_bytes = columns[i].stored_bytes = (uint32_t)(data.len - before);
    }
    c->payload.len = 0;
    buf_add(&c->payload, columns, sizeof(columns));
    buf_add(&c->payload, data.data, data.len);
    c->header = (struct hdl_chunk_header){
        .kind = e->threads ? HDL_THREAD : HDL_MERGED,
        .context_bits = (uint8_t)e->context.bits,
        .stored_bytes = (uint32_t)c->payload.len,
        .count = e->count,
        .subject = e->threads ? thread : 0,
        .stamp_first = stamp,
    };
    buf_release(&data);
}

/* Decode a chunk in pieces of different length and compare. */
static void expect_chunk(const struct chunk *c, const struct tables *t, const struct events *e,
                         size_t first, const uint64_t *sequences, const uint64_t *stamps)
{
    static struct event got[700];
    static uint64_t sequence[700], stamp[700];
    struct decoder d = { 0 };
    struct error err = { "" };
    size_t done = 0;
    long n;

    if (decoder_start(&d, &c->header, (const uint8_t *)c->payload.data, &err) < 0)
        fail_msg("%s", err.text);
    while ((n = decoder_next(&d, t, got, 1 + done % 700, sequence, stamp, &err)) > 0) {
        assert_events(e, first + done, got, d.extra, (size_t)n);
        for (long i = 0; sequences && i < n; i++) {
            assert_int_equal(sequence[i], sequences[first + done + (size_t)i]);
            assert_int_equal(stamp[i], stamps[first + done + (size_t)i]);
        }
        done += (size_t)n;
    }
    if (n < 0)
        fail_msg("%s", err.text);
    assert_int_equal(done, c->header.count);
    decoder_release(&d);
}

/* Encode all events of a merged trace and compare what comes back. Returns the chunks. */
static size_t expect_round_trip(const struct tables *t, const struct events *e, uint32_t bits,
                                uint32_t limit)
{
    struct encoder enc;
    struct chunk c = { 0 };
    size_t done = 0, chunks = 0;

    encoder_init(&enc, bits, false);
    while (done < e->count) {
        size_t n;

        encoder_start(&enc, 0);
        n = encoder_add(&enc, e->list + done, e->count - done, e->extra, NULL, NULL, limit);
        assert_true(n > 0);
        pack(&enc, 0, 0, &c);
        expect_chunk(&c, t, e, done, NULL, NULL);
        done += n;
        chunks++;
    }
    encoder_release(&enc);
    buf_release(&c.payload);
    return chunks;
}

/* ---- what comes back ---- */

static void every_operation_order_and_flag_comes_back(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    uint64_t seed = 1;

    (void)state;
    fill_tables(&t, 3, 5);
    for (unsigned op = 0; op < OP_COUNT; op++)
        for (int i = 0; op_is_known(op) && i < 300; i++)
            random_event_of(&seed, &t, op, &e);
    expect_round_trip(&t, &e, 11, 65536);
    expect_round_trip(&t, &e, 0, 65536); /* one context for all */
    events_release(&e);
    tables_release(&t);
}

static void every_size_comes_back(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct event ev = { .op = OP_WRITE, .target = 0x1000 };

    (void)state;
    fill_tables(&t, 1, 1);
    for (ev.size = 1; ev.size <= 300; ev.size++)
        events_add(&e, ev);
    for (unsigned bit = 8; bit <= 20; bit++)
        for (int odd = -1; odd <= (bit < 20); odd++) {
            ev.size = (1u << bit) + (unsigned)odd;
            events_add(&e, ev);
        }
    assert_int_equal(e.list[e.count - 1].size, ACCESS_MAX_BYTES);
    expect_round_trip(&t, &e, 9, 65536);
    events_release(&e);
    tables_release(&t);
}

static void targets_of_every_length_come_back(void **state)
{
    static const uint64_t first[] = { 0, 0x7fffffff0000, ADDRESS_LIMIT - 8, NAMED_BASE };
    struct tables t = { 0 };
    struct events e = { 0 };
    struct event ev = { .op = OP_READ, .size = 8 };

    (void)state;
    fill_tables(&t, 1, 70000); /* numbers of 1, 2 and 4 bytes */
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 3; k++) { /* stride and repetition */
            ev.target = first[i];
            events_add(&e, ev);
            events_add(&e, ev);
        }
        for (unsigned bit = 0; bit < 57; bit++) {
            ev.target = (uint64_t)1 << bit;
            events_add(&e, ev);
            ev.target = NAMED_ADDRESS(((uint64_t)1 << bit) % 70000);
            events_add(&e, ev);
        }
    }
    ev.size = 1;
    ev.target = ADDRESS_LIMIT - 1;
    events_add(&e, ev);
    expect_round_trip(&t, &e, 9, 65536);
    events_release(&e);
    tables_release(&t);
}

static void an_array_walked_twice_costs_one_byte_an_event(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct encoder enc;

    (void)state;
    fill_tables(&t, 1, 1);
    for (uint64_t i = 0; i < 2000; i++)
        events_add(&e,
                   (struct event){ .op = OP_WRITE, .size = 4, .target = 0x5000 + 4 * (i % 1000) });
    expect_round_trip(&t, &e, 9, 65536);
    encoder_init(&enc, 9, false);
    encoder_start(&enc, 0);
    encoder_add(&enc, e.list, e.count, NULL, NULL, NULL, 65536);
    assert_int_equal(enc.columns[COL_FLAGS].len, 2000);
    /* 0x5000, the stride, back to the start, the stride again */
    assert_int_equal(enc.columns[COL_TARGETS].len, 2 + 1 + 2 + 1);
    assert_int_equal(enc.columns[COL_SITES].len, 2); /* the first, and what follows it */
    assert_int_equal(enc.columns[COL_SHAPES].len, 1);
    assert_int_equal(enc.columns[COL_THREADS].len, 1);
    encoder_release(&enc);
    events_release(&e);
    tables_release(&t);
}

static void values_and_old_values_of_every_length_come_back(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct event ev = { .op = OP_RMW, .order = ORDER_SEQ_CST, .size = 8, .target = 0x10 };

    (void)state;
    fill_tables(&t, 1, 1);
    for (unsigned bit = 0; bit < 64; bit++) {
        ev.flags = (uint16_t)(EV_VALUE | EV_OLD | (bit % 2 ? EV_SIGNED : 0));
        ev.value = (uint64_t)1 << bit;
        ev.old = ~ev.value;
        events_add(&e, ev);
        events_add(&e, ev); /* the same value again */
        ev.flags = EV_VALUE;
        ev.value = -ev.value;
        ev.old = 0;
        events_add(&e, ev);
    }
    expect_round_trip(&t, &e, 9, 65536);
    events_release(&e);
    tables_release(&t);
}

static void calls_come_back_with_their_objects(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct event ev = { .op = OP_CALL };

    (void)state;
    fill_tables(&t, 100, 100);
    events_add(&e, ev); /* nothing listed, and no memory behind it either */
    expect_round_trip(&t, &e, 9, 65536);
    for (uint64_t n = 0; n < 50; n++) {
        ev.target = n;
        ev.value = e.nextra;
        ev.old = 3 * n;
        for (uint64_t i = 0; i < n; i++) {
            events_add_entry(&e, D_THREAD(i), 0);
            events_add_entry(&e, NAMED_ADDRESS(99 - i), 8);
            events_add_entry(&e, ADDRESS_LIMIT - (1 + i), 1 + i);
        }
        events_add(&e, ev);
    }
    expect_round_trip(&t, &e, 9, 65536);
    events_release(&e);
    tables_release(&t);
}

static void a_chunk_ends_when_its_calls_grow_large(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct event ev = { .op = OP_CALL, .old = 100000 };

    (void)state;
    fill_tables(&t, 1, 1);
    for (uint64_t i = 0; i < ev.old; i++)
        events_add_entry(&e, 0x7000, 8); /* compresses a thousand times and more */
    for (int i = 0; i < 40; i++)
        events_add(&e, ev);
    assert_in_range(expect_round_trip(&t, &e, 9, 65536), 6, 40); /* 2 bytes an entry */
    events_release(&e);
    tables_release(&t);
}

/* Two flag bits, seven sizes and six orders of three operations. */
static void add_many_shapes(struct events *e)
{
    for (unsigned op = OP_LOAD; op <= OP_RMW; op++)
        for (unsigned order = 1; order < ORDER_COUNT; order++)
            for (unsigned size = 1; size <= 32; size *= 2)
                for (unsigned flags = 0; flags < 4; flags++)
                    events_add(e, (struct event){ .op = (uint8_t)op,
                                                  .order = (uint8_t)order,
                                                  .size = size,
                                                  .target = 0x40,
                                                  .flags = (uint16_t)flags });
}

static void more_than_256_shapes_need_another_chunk(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct encoder enc;

    (void)state;
    fill_tables(&t, 1, 1);
    add_many_shapes(&e);
    assert_true(e.count > SHAPES_MAX);
    encoder_init(&enc, 9, false);
    encoder_start(&enc, 0);
    assert_int_equal(encoder_add(&enc, e.list, e.count, NULL, NULL, NULL, 65536), SHAPES_MAX);
    assert_int_equal(enc.count, SHAPES_MAX);
    assert_int_equal(encoder_add(&enc, e.list, SHAPES_MAX, NULL, NULL, NULL, 65536), SHAPES_MAX);
    encoder_release(&enc);
    assert_int_equal(expect_round_trip(&t, &e, 9, 65536), 2);
    add_many_shapes(&e);
    assert_int_equal(expect_round_trip(&t, &e, 9, 65536), 4);
    events_release(&e);
    tables_release(&t);
}

static void a_hundred_thousand_threads_come_back(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    uint64_t seed = 3;

    (void)state;
    fill_tables(&t, 100000, 10);
    for (uint32_t i = 0; i < 150000; i++) {
        random_event(&seed, &t, &e);
        e.list[i].thread = (uint32_t)(i * 7919ull % 100000);
    }
    expect_round_trip(&t, &e, 11, 65536);
    events_release(&e);
    tables_release(&t);
}

static void random_events_come_back_with_any_context(void **state)
{
    static const uint32_t limits[] = { 1, 2, 17, 4096, CHUNK_EVENTS_MAX };

    (void)state;
    for (uint64_t seed = 100; seed < 115; seed++) {
        struct tables t = { 0 };
        struct events e = { 0 };
        uint64_t s = seed;

        fill_tables(&t, 1 + (unsigned)below(&s, 2000), 1 + (unsigned)below(&s, 300));
        for (int i = 0; i < 3000; i++)
            random_event(&s, &t, &e);
        expect_round_trip(&t, &e, (uint32_t)(seed % (CONTEXT_BITS_MAX + 1)), limits[seed % 5]);
        events_release(&e);
        tables_release(&t);
    }
}

static void thread_chunks_keep_sequence_numbers_and_stamps(void **state)
{
    struct tables t = { 0 };
    struct events e = { 0 };
    struct encoder enc;
    struct chunk c = { 0 };
    uint64_t sequences[3000], stamps[3000], seed = 8, stamp = UINT64_MAX / 2;

    (void)state;
    fill_tables(&t, 50, 50);
    for (int i = 0; i < 3000; i++) {
        random_event(&seed, &t, &e);
        e.list[i].thread = 7;
        sequences[i] = below(&seed, 2) ? any_length(&seed) : 0;
        stamps[i] = stamp += below(&seed, 2) ? any_length(&seed) >> 12 : 0;
    }
    encoder_init(&enc, 9, true);
    for (size_t done = 0; done < e.count; done += enc.count) { /* many shapes: several chunks */
        encoder_start(&enc, stamps[done]);
        encoder_add(&enc, e.list + done, e.count - done, e.extra, sequences + done, stamps + done,
                    3000);
        pack(&enc, 7, stamps[done], &c);
        expect_chunk(&c, &t, &e, done, sequences, stamps);
    }
    encoder_release(&enc);
    buf_release(&c.payload);
    events_release(&e);
    tables_release(&t);
}

/* ---- what is refused ---- */

/* A chunk of one event of thread 0 at site 0, to be spoilt. */
static void one_event(struct event ev, const uint64_t *extra, struct chunk *c)
{
    struct encoder enc;

    encoder_init(&enc, 9, false);
    encoder_start(&enc, 0);
    assert_int_equal(encoder_add(&enc, &ev, 1, extra, NULL, NULL, 16), 1);
    pack(&enc, 0, 0, c);
    encoder_release(&enc);
}

static uint8_t *column_of(const struct chunk *c, int column)
{
    struct hdl_column_header columns[COLUMNS];
    size_t offset = sizeof(columns);

    memcpy(columns, c->payload.data, sizeof(columns));
    for (int i = 0; i < column; i++)
        offset += columns[i].stored_bytes;
    return (uint8_t *)c->payload.data + offset;
}

static void expect_refused(const struct chunk *c, const char *reason)
{
    struct tables t = { 0 };
    struct decoder d = { 0 };
    struct error err = { "" };
    struct event got[16];
    uint64_t sequence[16], stamp[16];
    long n = -1;

    fill_tables(&t, 2, 2);
    if (decoder_start(&d, &c->header, (const uint8_t *)c->payload.data, &err) == 0)
        n = decoder_next(&d, &t, got, 16, sequence, stamp, &err);
    assert_int_equal(n, -1);
    assert_string_equal(err.text, reason);
    decoder_release(&d);
    tables_release(&t);
}

static const struct event plain = { .op = OP_WRITE, .size = 4, .target = 0x1000 };

static void expect_event_refused(struct event ev)
{
    struct chunk c = { 0 };
    uint64_t entry[2] = { ev.value, ev.old }; /* of a call's D */

    if (ev.op == OP_CALL) {
        ev.value = 0;
        ev.old = 1;
    }
    one_event(ev, entry, &c);
    expect_refused(&c, "event 0: damaged");
    buf_release(&c.payload);
}

static void numbers_outside_the_tables_are_refused(void **state)
{
    (void)state;
    expect_event_refused((struct event){ .op = OP_WRITE, .size = 4, .thread = 2 });
    expect_event_refused((struct event){ .op = OP_WRITE, .size = 4, .site = 8 });
    expect_event_refused((struct event){ .op = OP_READ, .size = 8, .target = NAMED_ADDRESS(2) });
    expect_event_refused((struct event){ .op = OP_ACQUIRE, .target = NAMED_OBJECT(2) });
    expect_event_refused((struct event){ .op = OP_FORK, .target = 2 });
    expect_event_refused((struct event){ .op = OP_JOIN, .target = 2 });
    expect_event_refused((struct event){ .op = OP_ENTER, .target = 2 });
    expect_event_refused((struct event){ .op = OP_RETURN, .target = 2 });
    expect_event_refused((struct event){ .op = OP_CALL, .target = 2, .value = 0x10, .old = 1 });
}

static void impossible_targets_are_refused(void **state)
{
    (void)state;
    expect_event_refused((struct event){ .op = OP_READ, .size = 4, .target = ADDRESS_LIMIT - 3 });
    expect_event_refused((struct event){ .op = OP_READ, .size = 4, .target = NAMED_ADDRESS(0) });
    expect_event_refused((struct event){ .op = OP_READ, .size = 4, .target = NAMED_BASE - 8 });
    expect_event_refused((struct event){ .op = OP_ALLOC, .target = 0x10, .value = 0 });
    expect_event_refused((struct event){ .op = OP_FREE, .target = 0x10, .value = ADDRESS_LIMIT });
    expect_event_refused((struct event){ .op = OP_ACQUIRE, .target = ADDRESS_LIMIT });
    expect_event_refused((struct event){ .op = OP_BRANCH, .target = 1 });
    expect_event_refused((struct event){ .op = OP_BEGIN, .target = 1 });
    expect_event_refused((struct event){ .op = OP_FENCE, .order = ORDER_SEQ_CST, .target = 1 });
    expect_event_refused((struct event){ .op = OP_CALL, .value = 0x10, .old = 0 });
    expect_event_refused((struct event){ .op = OP_CALL, .value = NAMED_ADDRESS(0), .old = 4 });
    expect_event_refused((struct event){ .op = OP_CALL, .value = D_THREAD(2), .old = 0 });
    expect_event_refused((struct event){ .op = OP_CALL, .value = ADDRESS_LIMIT, .old = 1 });
    expect_event_refused((struct event){ .op = OP_LINK, .target = ADDRESS_LIMIT });
    expect_event_refused((struct event){ .op = OP_LINK, .value = ADDRESS_LIMIT });
    expect_event_refused((struct event){ .op = OP_LINK, .target = NAMED_ADDRESS(0) });
    expect_event_refused((struct event){ .op = OP_OBJECT, .target = 8 });
    expect_event_refused((struct event){ .op = OP_OBJECT, .target = 8, .value = ADDRESS_LIMIT });
    expect_event_refused((struct event){ .op = OP_WRITE, .size = ACCESS_MAX_BYTES + 1 });
}

static void expect_entry_refused(enum d_kind kind, uint64_t low, uint64_t second)
{
    expect_event_refused(
        (struct event){ .op = OP_CALL, .value = D_ENTRY(kind, low), .old = second });
}

static void impossible_entries_of_lists_are_refused(void **state)
{
    (void)state;
    expect_entry_refused(D_START_KIND, 2, 0);
    expect_entry_refused(D_SYNC_KIND, 2, 0);
    expect_entry_refused(D_ALL_KIND, 1, 0);
    expect_entry_refused(D_ROOT_KIND, ADDRESS_LIMIT, 0);
    expect_entry_refused(D_EXTENT_KIND, 0x10, 0);
    expect_entry_refused(D_EXTENT_KIND, 0x10, ADDRESS_LIMIT);
    expect_entry_refused(D_EXTENT_KIND, ADDRESS_LIMIT, 8);
    expect_entry_refused(D_SLOT_KIND, ADDRESS_LIMIT, 8);
    expect_entry_refused(D_SLOT_KIND, 8, ADDRESS_LIMIT);
}

/* The bytes of the list of a call, as they may stand in a file. */
static void expect_list_refused(uint64_t entry, size_t at, uint8_t byte)
{
    struct chunk c = { 0 };
    uint64_t d[2] = { entry, 0 };

    one_event((struct event){ .op = OP_CALL, .old = 1 }, d, &c);
    column_of(&c, COL_CALLS)[at] = byte;
    expect_refused(&c, "event 0: damaged");
    buf_release(&c.payload);
}

static void malformed_lists_are_refused(void **state)
{
    const uint64_t all = D_ENTRY(D_ALL_KIND, 0), root = D_ENTRY(D_ROOT_KIND, 2);

    (void)state;
    expect_list_refused(all, 0, 2);            /* more entries than bytes */
    expect_list_refused(all, 1, LIST_KINDS);   /* an unknown kind */
    expect_list_refused(all, 1, 15);           /* the last one */
    expect_list_refused(all, 1, 1 << 4 | 4);   /* all of something */
    expect_list_refused(all, 1, 2 << 4 | 8);   /* no such variable */
    expect_list_refused(root, 1, D_SLOT_KIND); /* the pointer is missing */
    expect_list_refused(root, 1, 1 << 4 | 5);  /* the address -1 */
}

static void expect_shape_refused(struct event ev)
{
    struct chunk c = { 0 };
    char reason[64];
    uint64_t shape;

    one_event(ev, NULL, &c);
    memcpy(&shape, column_of(&c, COL_SHAPES) + 1, sizeof(shape));
    snprintf(reason, sizeof(reason), "impossible kind of event 0x%016llx",
             (unsigned long long)shape);
    expect_refused(&c, reason);
    buf_release(&c.payload);
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    expect_shape_refused((struct event){ .op = 0, .size = 4 });
    expect_shape_refused((struct event){ .op = 7 });
    expect_shape_refused((struct event){ .op = OP_COUNT });
    expect_shape_refused((struct event){ .op = OP_READ, .size = 4, .order = ORDER_RELAXED });
    expect_shape_refused((struct event){ .op = OP_LOAD, .size = 4 });
    expect_shape_refused((struct event){ .op = OP_LOAD, .size = 4, .order = ORDER_COUNT });
    expect_shape_refused((struct event){ .op = OP_FENCE });
    expect_shape_refused((struct event){ .op = OP_READ, .size = 0 });
    expect_shape_refused((struct event){ .op = OP_ACQUIRE, .size = 8 });
    expect_shape_refused((struct event){ .op = OP_ACQUIRE, .flags = EV_VALUE });
    expect_shape_refused((struct event){ .op = OP_WRITE, .size = 4, .flags = EV_VALUE | EV_OLD });
    expect_shape_refused(
        (struct event){ .op = OP_RMW, .order = ORDER_RELAXED, .size = 4, .flags = EV_OLD });
}

static void flag_bytes_that_lie_are_refused(void **state)
{
    struct chunk c = { 0 };

    (void)state;
    one_event(plain, NULL, &c);
    *column_of(&c, COL_FLAGS) &= (uint8_t)~FLAG_SWITCH;
    expect_refused(&c, "event 0: damaged"); /* no thread */
    one_event(plain, NULL, &c);
    *column_of(&c, COL_FLAGS) &= (uint8_t)~FLAG_SHAPE;
    expect_refused(&c, "event 0: damaged"); /* no shape */
    one_event(plain, NULL, &c);
    column_of(&c, COL_SHAPES)[9] = 1;
    expect_refused(&c, "event 0: damaged"); /* not in the dictionary */
    one_event(plain, NULL, &c);
    *column_of(&c, COL_FLAGS) |= 7 << FLAG_TARGET_SHIFT;
    expect_refused(&c, "unknown kind of target");
    one_event(plain, NULL, &c);
    *column_of(&c, COL_FLAGS) = FLAG_SWITCH | FLAG_SHAPE | 1 << FLAG_SITE_SHIFT | TARGET_4 << 4;
    expect_refused(&c, "events 0 to 0: a column ends too early");
    one_event(plain, NULL, &c);
    *column_of(&c, COL_FLAGS) = FLAG_SWITCH | FLAG_SHAPE | 1 << FLAG_SITE_SHIFT | TARGET_LAST << 4;
    expect_refused(&c, "bytes are left over behind the last event");
    buf_release(&c.payload);
}

static void expect_columns_refused(int column, uint32_t raw, uint32_t stored, const char *reason)
{
    struct hdl_column_header columns[COLUMNS];
    struct chunk c = { 0 };

    one_event(plain, NULL, &c);
    memcpy(columns, c.payload.data, sizeof(columns));
    columns[column] = (struct hdl_column_header){ raw, stored };
    memcpy(c.payload.data, columns, sizeof(columns));
    expect_refused(&c, reason);
    buf_release(&c.payload);
}

static void column_lengths_that_lie_are_refused(void **state)
{
    (void)state;
    expect_columns_refused(COL_FLAGS, 1, 2, "column lengths do not add up");
    expect_columns_refused(COL_FLAGS, 2, 1, "column 0 claims 2 bytes");
    expect_columns_refused(COL_FLAGS, 0, 1, "column 0 claims 0 bytes");
    expect_columns_refused(COL_THREADS, 11, 1, "column 1 claims 11 bytes");
    expect_columns_refused(COL_SITES, 5, 1, "column 2 claims 5 bytes");
    expect_columns_refused(COL_SHAPES, 2051, 10, "column 3 claims 2051 bytes");
    expect_columns_refused(COL_TARGETS, 9, 2, "column 4 claims 9 bytes");
    expect_columns_refused(COL_VALUES, 21, 0, "column 5 claims 21 bytes");
    expect_columns_refused(COL_SIZES, 6, 0, "column 6 claims 6 bytes");
    expect_columns_refused(COL_SEQUENCE, 11, 0, "column 7 claims 11 bytes");
    expect_columns_refused(COL_CALLS, CALLS_BYTES_MAX + 1, 0, "column 8 claims 33554433 bytes");
    expect_columns_refused(COL_TARGETS, 3, 2, "column 4 does not decompress");
}

static void chunk_headers_that_lie_are_refused(void **state)
{
    struct chunk c = { 0 };

    (void)state;
    one_event(plain, NULL, &c);
    c.header.count = 0;
    expect_refused(&c, "impossible chunk header");
    c.header.count = CHUNK_EVENTS_MAX + 1;
    expect_refused(&c, "impossible chunk header");
    c.header.count = 2;
    expect_refused(&c, "2 events but 1 flag bytes");
    c.header.count = 1;
    c.header.context_bits = CONTEXT_BITS_MAX + 1;
    expect_refused(&c, "impossible chunk header");
    c.header.context_bits = 9;
    c.header.stored_bytes = 71;
    expect_refused(&c, "column lengths do not add up");
    c.header.stored_bytes = (uint32_t)c.payload.len;
    c.header.kind = HDL_THREAD;
    c.header.subject = 2; /* there are two threads */
    expect_refused(&c, "event 0: damaged");
    buf_release(&c.payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_order_and_flag_comes_back),
        cmocka_unit_test(every_size_comes_back),
        cmocka_unit_test(targets_of_every_length_come_back),
        cmocka_unit_test(an_array_walked_twice_costs_one_byte_an_event),
        cmocka_unit_test(values_and_old_values_of_every_length_come_back),
        cmocka_unit_test(calls_come_back_with_their_objects),
        cmocka_unit_test(a_chunk_ends_when_its_calls_grow_large),
        cmocka_unit_test(more_than_256_shapes_need_another_chunk),
        cmocka_unit_test(a_hundred_thousand_threads_come_back),
        cmocka_unit_test(random_events_come_back_with_any_context),
        cmocka_unit_test(thread_chunks_keep_sequence_numbers_and_stamps),
        cmocka_unit_test(numbers_outside_the_tables_are_refused),
        cmocka_unit_test(impossible_targets_are_refused),
        cmocka_unit_test(impossible_entries_of_lists_are_refused),
        cmocka_unit_test(malformed_lists_are_refused),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(flag_bytes_that_lie_are_refused),
        cmocka_unit_test(column_lengths_that_lie_are_refused),
        cmocka_unit_test(chunk_headers_that_lie_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
