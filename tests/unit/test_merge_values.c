/* test_merge_values.c - values put right what coarse stamps get wrong
 *
 * Small cases are written event by event. For the rest a random program is simulated with real
 * memory, its stamps are made coarse but never wrong (an access happens between its stamp and the
 * thread's next one), and the merged order is checked: program order and sequence numbers are
 * kept, and the reads see what they saw.
 */
#include "hdl_tools.h"

enum { THREADS_MAX = 4, CELLS = 12, EVENTS_MAX = 6000 };
#define CELL(n) (0x1000 + 8 * (uint64_t)(n))

struct own {
    struct event events[EVENTS_MAX];
    uint64_t sequences[EVENTS_MAX], stamps[EVENTS_MAX];
    size_t count;
};

static struct {
    struct tables tables;
    struct own own[THREADS_MAX];
    unsigned threads;
    uint64_t locks; /* operations on the lock */
} p;

static void program_start(unsigned threads)
{
    memset(p.own, 0, sizeof(p.own));
    p.threads = threads;
    p.locks = 0;
    fill_tables(&p.tables, threads, 10);
}

static void add(uint32_t thread, uint64_t stamp, struct event ev, uint64_t sequence)
{
    struct own *o = &p.own[thread];

    assert_true(o->count < EVENTS_MAX);
    ev.thread = thread;
    o->sequences[o->count] = sequence;
    o->stamps[o->count] = stamp;
    o->events[o->count++] = ev;
}

static void access_at(uint32_t thread, uint64_t stamp, unsigned op, uint64_t target, uint32_t size,
                      uint64_t value)
{
    add(thread, stamp,
        (struct event){
            .op = (uint8_t)op, .target = target, .size = size, .flags = EV_VALUE, .value = value },
        0);
}

static void merge_it(struct reading *r, size_t piece)
{
    struct hdl_options o = { .compression = HDL_LZ4, .threads = true, .stamp_ns = 1 };
    struct error err = { "" };
    struct hdl_writer *w = hdl_create(path_to("v.hdl"), &p.tables, &o, &err);

    assert_non_null(w);
    for (uint32_t t = 0; t < p.threads; t++)
        for (size_t first = 0; first < p.own[t].count; first += piece) {
            size_t left = p.own[t].count - first;
            struct hdl_stream s = { p.own[t].events + first, p.own[t].sequences + first,
                                    p.own[t].stamps + first, NULL, left < piece ? left : piece };

            assert_int_equal(hdl_write_thread(w, t, first, &s, &err), 0);
        }
    assert_int_equal(hdl_finish(w, &err), 0);
    reading_start(r, path_to("v.hdl"));
    assert_string_equal(r->info.loss, "");
    tables_release(&p.tables);
}

static void expect_threads(struct reading *r, const char *threads)
{
    assert_int_equal(r->events.count, strlen(threads));
    for (size_t i = 0; i < r->events.count; i++)
        assert_int_equal(r->events.list[i].thread, threads[i] - '0');
}

/* ---- small cases ---- */

static void a_read_waits_for_the_write_it_saw(void **state)
{
    struct reading r;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_READ, CELL(0), 4, 0);
    access_at(0, 10, OP_READ, CELL(0), 4, 7);
    access_at(0, 10, OP_WRITE, CELL(1), 4, 1);
    access_at(1, 20, OP_WRITE, CELL(2), 4, 5);
    access_at(1, 20, OP_WRITE, CELL(0), 4, 7);
    merge_it(&r, 100);
    expect_threads(&r, "01100");
    assert_int_equal(r.info.value_mismatches, 0);
    reading_release(&r);
}

static void a_write_lets_reads_of_the_old_value_go_first(void **state)
{
    struct reading r;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_READ, CELL(0), 8, 1);
    access_at(0, 10, OP_WRITE, CELL(0), 8, 2);
    access_at(1, 20, OP_READ, CELL(0), 8, 1);
    access_at(1, 20, OP_READ, CELL(0), 8, 1);
    access_at(1, 20, OP_READ, CELL(0), 8, 2);
    merge_it(&r, 100);
    expect_threads(&r, "01101");
    assert_int_equal(r.info.value_mismatches, 0);
    reading_release(&r);
}

static void parts_of_a_word_are_told_apart(void **state)
{
    struct reading r;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_READ, CELL(0), 8, 0);
    access_at(0, 10, OP_WRITE, CELL(0), 2, 0x1111);
    access_at(0, 10, OP_READ, CELL(0), 8, 0x22221111);
    access_at(1, 20, OP_WRITE, CELL(0) + 2, 2, 0x2222);
    merge_it(&r, 100);
    expect_threads(&r, "0010");
    reading_release(&r);
}

/* The write is over when the read begins: memory was changed by code that nobody saw. */
static void a_certain_order_is_not_changed_for_a_value(void **state)
{
    struct reading r;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_READ, CELL(0), 4, 1);
    access_at(0, 10, OP_WRITE, CELL(0), 4, 2);
    access_at(0, 30, OP_WRITE, CELL(1), 4, 2);
    access_at(1, 40, OP_READ, CELL(0), 4, 1);
    merge_it(&r, 100);
    expect_threads(&r, "0001");
    assert_int_equal(r.info.value_mismatches, 1);
    reading_release(&r);
}

static void freed_memory_contradicts_nothing(void **state)
{
    struct reading r;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_WRITE, CELL(0), 4, 1);
    add(0, 11, (struct event){ .op = OP_FREE, .target = CELL(0), .value = 64 }, 1);
    add(1, 12, (struct event){ .op = OP_ALLOC, .target = CELL(0), .value = 64 }, 2);
    access_at(1, 12, OP_READ, CELL(0), 4, 9);
    merge_it(&r, 100);
    assert_int_equal(r.info.value_mismatches, 0);
    reading_release(&r);
}

/* Memory that one thread touches: what it reads there and did not write, untraced code wrote. */
static void what_untraced_code_wrote_is_marked(void **state)
{
    static const unsigned marked[] = { 0, EV_UNSEEN, EV_UNSEEN, 0, 0, 0, 0 };
    struct reading r;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_WRITE, CELL(0), 8, 5);
    access_at(0, 10, OP_READ, CELL(0), 8, 9);
    access_at(0, 10, OP_READ, CELL(0), 4, 9);
    access_at(0, 10, OP_WRITE, CELL(0), 8, 9);
    access_at(0, 10, OP_READ, CELL(0), 8, 9);
    access_at(0, 10, OP_WRITE, CELL(1), 8, 5);
    access_at(1, 20, OP_READ, CELL(1), 8, 6); /* others touch it: who knows */
    merge_it(&r, 100);
    expect_threads(&r, "0000001");
    for (size_t i = 0; i < r.events.count; i++)
        assert_int_equal(r.events.list[i].flags & EV_UNSEEN, marked[i]);
    reading_release(&r);
}

/* ---- random programs ---- */

/* The threads take turns, one event each; `tick`: steps between a thread's stamps. */
static size_t simulate(uint64_t seed, unsigned threads, size_t events, uint64_t tick)
{
    uint64_t memory[CELLS] = { 0 }, stamp[THREADS_MAX] = { 0 }, until[THREADS_MAX] = { 0 };
    size_t reads = 0;

    program_start(threads);
    for (uint64_t now = 1; now <= events; now++) {
        uint32_t t = (uint32_t)below(&seed, threads);
        unsigned cell = (unsigned)below(&seed, CELLS), kind = (unsigned)below(&seed, 40);

        if (now >= until[t]) {
            stamp[t] = now;
            until[t] = now + tick / 2 + below(&seed, tick);
        }
        if (kind == 0) {
            stamp[t] = now;
            add(t, now, (struct event){ .op = OP_BEFORE, .target = 0x40 }, ++p.locks);
        } else if (kind < 16) {
            memory[cell] = now;
            access_at(t, stamp[t], OP_WRITE, CELL(cell), 8, now);
        } else {
            access_at(t, stamp[t], OP_READ, CELL(cell), 8, memory[cell]);
            reads++;
        }
    }
    return reads;
}

static void expect_rules(const struct reading *r)
{
    size_t at[THREADS_MAX] = { 0 }, all = 0;
    uint64_t seen = 0;

    for (size_t i = 0; i < r->events.count; i++) {
        uint32_t t = r->events.list[i].thread;

        assert_true(same_event(&p.own[t].events[at[t]], NULL, &r->events.list[i], NULL));
        if (p.own[t].sequences[at[t]])
            assert_int_equal(p.own[t].sequences[at[t]], ++seen);
        at[t]++;
    }
    for (unsigned t = 0; t < p.threads; t++)
        all += p.own[t].count;
    assert_int_equal(r->events.count, all);
}

/* Reads that see another value than the last write of the order left. */
static size_t count_wrong(const struct events *e)
{
    uint64_t memory[CELLS] = { 0 };
    size_t wrong = 0;

    for (size_t i = 0; i < e->count; i++) {
        const struct event *ev = &e->list[i];

        if (ev->op == OP_WRITE)
            memory[(ev->target - CELL(0)) / 8] = ev->value;
        else if (ev->op == OP_READ)
            wrong += memory[(ev->target - CELL(0)) / 8] != ev->value;
    }
    return wrong;
}

/* The order by stamps alone; sequence numbers agree with them here. */
static size_t count_wrong_by_stamps(void)
{
    size_t at[THREADS_MAX] = { 0 }, wrong;
    struct events e = { 0 };

    for (;;) {
        unsigned best = THREADS_MAX;

        for (unsigned t = 0; t < p.threads; t++)
            if (at[t] < p.own[t].count &&
                (best == THREADS_MAX || p.own[t].stamps[at[t]] < p.own[best].stamps[at[best]]))
                best = t;
        if (best == THREADS_MAX)
            break;
        events_add(&e, p.own[best].events[at[best]++]);
    }
    wrong = count_wrong(&e);
    events_release(&e);
    return wrong;
}

static void the_rules_hold_and_fewer_reads_are_contradicted(void **state)
{
    /* A dozen cells that all threads write all the time: with stamps that are coarser than 20 steps
     * only the rules are expected to hold. */
    static const uint64_t ticks[] = { 1, 10, 20, 1000 };
    size_t reads = 0, wrong = 0, before = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 48; seed++) {
        unsigned threads = 1 + (unsigned)(seed % THREADS_MAX);
        size_t all = simulate(seed, threads, 5000, ticks[seed / 4 % 4]);
        struct events first;
        struct reading r;

        merge_it(&r, 1 + seed * 37 % 700);
        expect_rules(&r);
        if (threads == 1 || ticks[seed / 4 % 4] == 1)
            assert_int_equal(count_wrong(&r.events), 0);
        if (ticks[seed / 4 % 4] <= 20) {
            reads += all;
            wrong += count_wrong(&r.events);
            before += count_wrong_by_stamps();
        }
        first = r.events;
        r.events = (struct events){ 0 };
        assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
        reading_pass(&r); /* the same order again */
        assert_int_equal(r.events.count, first.count);
        assert_events(&first, 0, r.events.list, r.events.extra, first.count);
        events_release(&first);
        reading_release(&r);
    }
    print_message("# %zu of %zu reads are contradicted, by stamps alone %zu\n", wrong, reads,
                  before);
    assert_true(wrong * 2 < before);
}

/* The first thread has no read, so the first pass knows too late that values count. */
static void a_second_pass_has_the_order_of_the_first(void **state)
{
    struct reading r;
    struct events first;

    (void)state;
    program_start(2);
    access_at(0, 10, OP_WRITE, CELL(0), 4, 5);
    access_at(0, 20, OP_WRITE, CELL(0), 4, 0);
    access_at(0, 20, OP_WRITE, CELL(0), 4, 5);
    access_at(1, 15, OP_WRITE, CELL(3), 4, 1);
    access_at(1, 20, OP_READ, CELL(0), 4, 5);
    merge_it(&r, 100);
    first = r.events;
    r.events = (struct events){ 0 };
    assert_int_equal(r.source->ops->rewind(r.source, &r.err), 0);
    reading_pass(&r);
    assert_events(&first, 0, r.events.list, r.events.extra, first.count);
    events_release(&first);
    reading_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_waits_for_the_write_it_saw),
        cmocka_unit_test(a_write_lets_reads_of_the_old_value_go_first),
        cmocka_unit_test(parts_of_a_word_are_told_apart),
        cmocka_unit_test(a_certain_order_is_not_changed_for_a_value),
        cmocka_unit_test(freed_memory_contradicts_nothing),
        cmocka_unit_test(what_untraced_code_wrote_is_marked),
        cmocka_unit_test(a_second_pass_has_the_order_of_the_first),
        cmocka_unit_test(the_rules_hold_and_fewer_reads_are_contradicted),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
