/* fuzz_codec.c - libFuzzer target for the payload of an event chunk
 *
 * The first 5 bytes are the chunk's kind, flags and context bits, its compression,
 * and its number of events; the payload follows. What decodes is encoded and
 * decoded again: the same events must come back.
 */
#include "fuzz_format.h"
#include "base/alloc.h"
#include "trace/hdl/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { HEAD = 5, NAMES = 300, THREAD = 3, STRETCHES = 10, MOVES = 5 };

struct decoded {
    struct event *events;
    uint64_t *sequences, *stamps, *extra;
    size_t count, nextra, extra_cap;
};

static const struct tables *names(void)
{
    static struct tables t;
    struct intern *const all[] = { &t.threads, &t.variables, &t.objects, &t.functions, &t.sites };

    for (size_t i = 0; i < 5; i++)
        while (all[i]->count < NAMES)
            intern_append(all[i], "n", 1);
    while (t.stretches.count < STRETCHES) {
        struct stretch_access a[] = { { .site = t.stretches.count, .log = 3 },
                                      { .site = 7, .log = t.stretches.count % 5, .write = true },
                                      { .site = 8, .from = FROM_VALUE | 2, .offset = -4 },
                                      { .site = 9, .from = 1, .log = 2, .offset = 8 } };

        if (!stretches_add(&t.stretches, a, 1 + t.stretches.count % 4, t.stretches.count & 1, 5))
            abort();
    }
    if (t.stretches.count == STRETCHES) {
        struct stretch_access a[] = { { .site = 3, .log = STRETCH_ENTER, .offset = 4 },
                                      { .site = 5, .log = 3 },
                                      { .site = 3, .log = STRETCH_EXIT, .offset = 4 } };

        if (!stretches_add(&t.stretches, a, 3, STRETCH_LONG, SITE_NONE) ||
            !stretches_add(&t.stretches, a + 1, 2, STRETCH_LONG, SITE_NONE))
            abort();
    }
    while (t.moves.count < MOVES) {
        struct move_frame f[] = { { t.moves.count, 3 }, { 7, SITE_NONE }, { 9, t.moves.count } };

        moves_put(&t.moves, f, t.moves.count % 3, 3 - t.moves.count % 3);
    }
    return &t;
}

static void add_entries(struct decoded *to, struct event *ev, const uint64_t *extra)
{
    for (uint64_t i = 0; i < 2 * ev->old; i++) {
        GROW(to->extra, to->extra_cap, to->nextra + i + 1);
        to->extra[to->nextra + i] = extra[ev->value + i];
    }
    ev->value = to->nextra;
    to->nextra += 2 * ev->old;
}

/* All events of a chunk; fewer where it turns out damaged. */
static void decode(const struct hdl_chunk_header *h, const uint8_t *payload, struct decoded *to)
{
    struct decoder d = { 0 };
    struct error err;
    long n;

    to->events = xcalloc(h->count, sizeof(*to->events));
    to->sequences = xcalloc(h->count, sizeof(*to->sequences));
    to->stamps = xcalloc(h->count, sizeof(*to->stamps));
    if (decoder_start(&d, h, payload, &err) == 0) {
        while ((n = decoder_next(&d, names(), to->events + to->count, 77, to->sequences + to->count,
                                 to->stamps + to->count, &err)) > 0) {
            for (long i = 0; i < n; i++) {
                struct event *ev = &to->events[to->count + (size_t)i];

                fuzz_check_event(ev, d.extra, names());
                if (ev->op == OP_CALL)
                    add_entries(to, ev, d.extra);
            }
            to->count += (size_t)n;
        }
    }
    decoder_release(&d);
}

static void decoded_release(struct decoded *d)
{
    free(d->events);
    free(d->sequences);
    free(d->stamps);
    free(d->extra);
}

/* The payload as hdl_write.c makes it, stored as it is. */
static void pack(const struct encoder *e, struct buf *payload)
{
    struct hdl_column_header columns[COLUMNS];

    buf_reserve(payload, sizeof(columns));
    payload->len = sizeof(columns);
    for (int i = 0; i < COLUMNS; i++) {
        size_t before = payload->len;

        if (i == COL_SHAPES) {
            buf_addch(payload, (char)e->nshapes);
            buf_add(payload, e->shapes, e->nshapes * sizeof(e->shapes[0]));
        }
        if (e->columns[i].len)
            buf_add(payload, e->columns[i].data, e->columns[i].len);
        columns[i].raw_bytes = columns[i].stored_bytes = (uint32_t)(payload->len - before);
    }
    memcpy(payload->data, columns, sizeof(columns));
}

static void compare(const struct decoded *a, size_t first, const struct decoded *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct event *x = &a->events[first + i], *y = &b->events[i];
        struct event like = *y;

        if (x->op == OP_CALL) {
            like.value = x->value;
            if (x->old && memcmp(a->extra + x->value, b->extra + y->value, 16 * x->old))
                abort();
        }
        if (memcmp(x, &like, sizeof(like)) || a->sequences[first + i] != b->sequences[i] ||
            a->stamps[first + i] != b->stamps[i])
            abort();
    }
}

/* Encode and decode again; it may take several chunks. */
static void round_trip(const struct decoded *d, bool threads, uint32_t bits)
{
    struct encoder e;
    size_t done = 0;

    encoder_init(&e, bits, threads);
    while (done < d->count) {
        struct decoded again = { 0 };
        struct buf payload = { 0 };
        struct hdl_chunk_header h = { .kind = threads ? HDL_THREAD : HDL_MERGED,
                                      .context_bits = (uint8_t)bits,
                                      .subject = threads ? THREAD : 0,
                                      .stamp_first = d->stamps[done] };
        size_t n;

        encoder_start(&e, d->stamps[done]);
        n = encoder_add(&e, d->events + done, d->count - done, d->extra, d->sequences + done,
                        d->stamps + done, CHUNK_EVENTS_MAX);
        pack(&e, &payload);
        h.count = e.count;
        h.stored_bytes = (uint32_t)payload.len;
        decode(&h, (const uint8_t *)payload.data, &again);
        if (!n || again.count != n)
            abort();
        compare(d, done, &again);
        done += n;
        decoded_release(&again);
        buf_release(&payload);
    }
    encoder_release(&e);
}

/* Let the last column be what is left, so that a changed length does not end it all. */
static void fix_last_column(uint8_t *payload, size_t len, unsigned n)
{
    struct hdl_column_header columns[COLUMNS_MIXED];
    uint64_t stored = sizeof(*columns) * n;

    if (len < stored)
        return;
    memcpy(columns, payload, sizeof(*columns) * n);
    for (unsigned i = 0; i < n - 1; i++)
        stored += columns[i].stored_bytes;
    if (stored > len)
        return;
    if (columns[n - 1].raw_bytes == columns[n - 1].stored_bytes)
        columns[n - 1].raw_bytes = (uint32_t)(len - stored);
    columns[n - 1].stored_bytes = (uint32_t)(len - stored);
    memcpy(payload, columns, sizeof(*columns) * n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct hdl_chunk_header h = { 0 };
    struct decoded d = { 0 };
    uint8_t *payload;

    if (len < HEAD)
        return 0;
    payload = malloc(len - HEAD + 1);
    if (!payload)
        return 0;
    memcpy(payload, data + HEAD, len - HEAD);
    h.kind = data[0] & 0x80 ? HDL_THREAD : data[0] & 0x40 ? HDL_MIXED : HDL_MERGED;
    fix_last_column(payload, len - HEAD, h.kind == HDL_MIXED ? COLUMNS_MIXED : COLUMNS);
    h.flags = data[0] & 0x20 ? CHUNK_MOVES : 0;
    h.context_bits = data[0] & 0x0f;
    h.compression = data[1] % 3;
    h.count = (uint32_t)(data[2] | data[3] << 8);
    h.subject = h.kind != HDL_MERGED ? THREAD : 0;
    h.stored_bytes = (uint32_t)(len - HEAD);
    decode(&h, payload, &d);
    round_trip(&d, h.kind != HDL_MERGED, h.context_bits);
    decoded_release(&d);
    free(payload);
    return 0;
}
