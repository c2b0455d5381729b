/* test_findings.c - merging, enrichment and identity of findings */
#include "report/findings.h"
#include "report/clean.h"
#include "report/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A trace from text, and findings on it. */
struct fixture {
    char path[64];
    struct trace *trace;
    struct findings f;
};

static void fixture_open(struct fixture *x, const char *text)
{
    struct error err;
    struct batch b;
    FILE *file;
    int fd;

    *x = (struct fixture){ .path = "/tmp/heddle_findings_XXXXXX" };
    fd = mkstemp(x->path);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    x->trace = trace_open(x->path, &err);
    assert_non_null(x->trace);
    while (trace_next(x->trace, &b, &err) > 0)
        ;
    findings_set_trace(&x->f, "t.std", x->trace);
}

static void fixture_close(struct fixture *x)
{
    findings_release(&x->f);
    trace_close(x->trace);
    unlink(x->path);
}

/* The site of a location. */
static uint32_t site(struct fixture *x, const char *location)
{
    return intern_find(&trace_tables(x->trace)->sites, location, strlen(location));
}

struct pair {
    uint64_t first;
    const char *first_location;
    uint64_t second;
    const char *second_location;
};

/* An engine that found the pairs given. */
static void add_engine(struct fixture *x, const char *name, enum strength strength,
                       const struct pair *pairs, size_t n)
{
    struct race_table table;
    size_t e = findings_add_engine(&x->f, name, 0.5, true);

    race_table_init(&table);
    for (size_t i = 0; i < n; i++)
        race_table_add(&table, (struct access){ pairs[i].first, site(x, pairs[i].first_location) },
                       (struct access){ pairs[i].second, site(x, pairs[i].second_location) },
                       strength);
    findings_add_races(&x->f, e, &table, trace_tables(x->trace));
    race_table_release(&table);
}

static void finish(struct fixture *x)
{
    struct error err;

    assert_int_equal(findings_finish(&x->f, x->trace, &err), 0);
}

static const char simple[] = "A|fork(B)|1\n"
                             "A|w(x=1)|2\n"
                             "B|w(x=2)|3\n"
                             "A|r(x=2)|2\n"
                             "B|w(x=-4)|3\n"
                             "A|w(y)|4\n"
                             "B|w(y)|5\n";

static void pairs_of_locations_merge_whatever_their_order(void **state)
{
    const struct pair hb[] = { { 1, "2", 2, "3" }, { 2, "3", 3, "2" } };
    const struct pair shb[] = { { 3, "2", 4, "3" } };
    struct fixture x;

    (void)state;
    fixture_open(&x, simple);
    add_engine(&x, "hb", STRENGTH_MAYBE, hb, 2);
    add_engine(&x, "shb", STRENGTH_MAYBE, shb, 1);
    finish(&x);
    assert_int_equal(x.f.count, 1);
    assert_int_equal(x.f.races[0].count, 2); /* the most that one engine saw, not the sum */
    assert_int_equal(x.f.races[0].engines, 3);
    assert_int_equal(x.f.races[0].sides[0].event, 1); /* the first instance stays */
    assert_int_equal(x.f.engines[0].races, 1);
    assert_int_equal(x.f.engines[1].races, 1);
    fixture_close(&x);
}

static void the_strongest_engine_brings_its_instance_and_its_witness(void **state)
{
    const struct pair weak[] = { { 1, "2", 2, "3" } };
    struct race_table table;
    struct fixture x;
    size_t e;

    (void)state;
    fixture_open(&x, simple);
    add_engine(&x, "lockset", STRENGTH_POTENTIAL, weak, 1);
    race_table_init(&table);
    race_table_add(&table, (struct access){ 3, site(&x, "2") }, (struct access){ 4, site(&x, "3") },
                   STRENGTH_WITNESSED);
    table.races[0].witness = calloc(5, sizeof(uint64_t));
    memcpy(table.races[0].witness, (uint64_t[]){ 0, 1, 2, 3, 4 }, 5 * sizeof(uint64_t));
    table.races[0].nwitness = 5;
    e = findings_add_engine(&x.f, "mc", 0.1, true);
    findings_add_races(&x.f, e, &table, trace_tables(x.trace));
    assert_null(table.races[0].witness); /* it moved */
    race_table_release(&table);
    add_engine(&x, "late", STRENGTH_GUARANTEED, weak, 1);
    finish(&x);
    assert_int_equal(x.f.count, 1);
    assert_int_equal(x.f.races[0].strength, STRENGTH_WITNESSED);
    assert_int_equal(x.f.races[0].sides[0].event, 3);
    assert_int_equal(x.f.races[0].nwitness, 5);
    assert_int_equal(x.f.races[0].engines, 7);
    assert_true(x.f.races[0].nschedule >= 2);
    assert_int_equal(x.f.races[0].schedule[x.f.races[0].nschedule - 1].event, 4);
    assert_string_equal(x.f.races[0].schedule[x.f.races[0].nschedule - 1].operation, "w(x=-4)");
    fixture_close(&x);
}

static void findings_are_sorted_by_strength_then_by_position(void **state)
{
    const struct pair late[] = { { 5, "4", 6, "5" } }, early[] = { { 1, "2", 2, "3" } };
    struct fixture x;

    (void)state;
    fixture_open(&x, simple);
    add_engine(&x, "a", STRENGTH_MAYBE, early, 1);
    add_engine(&x, "b", STRENGTH_GUARANTEED, late, 1);
    finish(&x);
    assert_int_equal(x.f.count, 2);
    assert_int_equal(x.f.races[0].strength, STRENGTH_GUARANTEED);
    assert_string_equal(x.f.races[0].variable, "y");
    assert_string_equal(x.f.races[1].variable, "x");
    fixture_close(&x);
}

static void the_second_pass_fills_in_values_threads_and_creators(void **state)
{
    const struct pair found[] = { { 3, "2", 4, "3" } };
    struct fixture x;
    const struct side *s;

    (void)state;
    fixture_open(&x, simple);
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    s = x.f.races[0].sides;
    assert_string_equal(s[0].thread, "A");
    assert_string_equal(s[0].op, "read");
    assert_string_equal(s[0].value, "2");
    assert_null(s[0].creator);
    assert_string_equal(s[1].value, "-4");
    assert_string_equal(s[1].creator, "A");
    assert_string_equal(s[1].created_at, "1");
    assert_null(s[1].function);
    fixture_close(&x);
}

static void locks_are_those_held_at_the_access_in_the_order_taken(void **state)
{
    const struct pair found[] = { { 6, "16", 8, "20" } };
    struct fixture x;
    const struct side *s;

    (void)state;
    fixture_open(&x, "A|acq(L1)|10\n"
                     "A|acqs(L2)|11\n"
                     "A|acq(L3)|12\n"
                     "A|acq(L1)|13\n"
                     "A|rel(L1)|14\n" /* the inner one of two: L1 stays held */
                     "A|rel(L3)|15\n"
                     "A|w(x)|16\n"
                     "A|rel(L1)|17\n"
                     "B|w(x)|20\n");
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    s = x.f.races[0].sides;
    assert_int_equal(s[0].nlocks, 2);
    assert_string_equal(s[0].locks[0].name, "L1");
    assert_string_equal(s[0].locks[0].location, "10");
    assert_false(s[0].locks[0].shared);
    assert_string_equal(s[0].locks[1].name, "L2");
    assert_true(s[0].locks[1].shared);
    assert_int_equal(s[0].locks[1].event, 1);
    assert_int_equal(s[1].nlocks, 0);
    fixture_close(&x);
}

static void stacks_follow_enter_and_exit(void **state)
{
    const struct pair found[] = { { 5, "a.c:9:1", 6, "b.c:1:1" } };
    struct fixture x;
    const struct side *s;

    (void)state;
    fixture_open(&x, "A|enter(main)|1\n"
                     "A|enter(gone)|a.c:2:1\n"
                     "A|exit(gone)|a.c:3:1\n"
                     "A|enter(f)|a.c:4:1\n"
                     "A|enter(g)|a.c:5:1\n"
                     "A|w(x)|a.c:9:1\n"
                     "B|w(x)|b.c:1:1\n");
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    s = x.f.races[0].sides;
    assert_string_equal(s[0].function, "g");
    assert_int_equal(s[0].stack.count, 3);
    assert_string_equal(s[0].stack.frames[0].location, "a.c:9:1");
    assert_string_equal(s[0].stack.frames[1].function, "f");
    assert_string_equal(s[0].stack.frames[1].location, "a.c:5:1");
    assert_string_equal(s[0].stack.frames[2].function, "main");
    assert_int_equal(s[1].stack.count, 1);
    assert_null(s[1].stack.frames[0].function);
    fixture_close(&x);
}

static void deep_recursion_keeps_the_inner_frames_and_counts_the_rest(void **state)
{
    struct pair found[] = { { 200, "7", 201, "8" } };
    struct fixture x;
    struct buf text = { 0 };

    (void)state;
    for (int i = 0; i < 200; i++)
        buf_addf(&text, "A|enter(f)|%d\n", i + 100);
    buf_addstr(&text, "A|w(x)|7\nB|w(x)|8\n");
    fixture_open(&x, text.data);
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    assert_int_equal(x.f.races[0].sides[0].stack.count + x.f.races[0].sides[0].stack.omitted, 200);
    assert_int_equal(x.f.races[0].sides[0].stack.count, 64);
    buf_release(&text);
    fixture_close(&x);
}

static void an_address_shows_the_bytes_both_accesses_touch(void **state)
{
    const struct pair found[] = { { 0, "1", 1, "2" } };
    struct fixture x;

    (void)state;
    fixture_open(&x, "A|w(0x1000:8)|1\nB|w(0x1006:4)|2\n");
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    assert_string_equal(x.f.races[0].variable, "0x1006:2");
    assert_null(x.f.races[0].variable_key);
    fixture_close(&x);
}

static void an_address_belongs_to_its_last_allocation_before_the_access(void **state)
{
    const struct pair found[] = { { 3, "4", 4, "5" } };
    struct fixture x;
    const struct allocation *a;

    (void)state;
    fixture_open(&x, "A|alloc(0x1000:64)|1\n"
                     "A|free(0x1000:64)|2\n"
                     "A|alloc(0x1000:16)|3\n"
                     "A|w(0x1000:8)|4\n"
                     "B|w(0x1006:4)|5\n"
                     "A|free(0x1000:16)|6\n"
                     "B|alloc(0x1000:32)|7\n");
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    a = x.f.races[0].allocation;
    assert_non_null(a);
    assert_string_equal(a->thread, "A");
    assert_string_equal(a->location, "3");
    assert_int_equal(a->event, 2);
    assert_int_equal(a->bytes, 16);
    assert_int_equal(a->offset, 6);
    fixture_close(&x);
}

static void memory_that_was_never_allocated_has_no_allocation(void **state)
{
    const struct pair found[] = { { 1, "2", 2, "3" } };
    struct fixture x;

    (void)state;
    fixture_open(&x, "A|alloc(0x1000:16)|1\nA|w(0x1010:4)|2\nB|w(0x1010:4)|3\n");
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    assert_null(x.f.races[0].allocation);
    fixture_close(&x);
}

/* The id of the first race of a trace of two accesses. */
static char *id_of(const char *text, const char *first, const char *second)
{
    const struct pair found[] = { { 2, first, 3, second } };
    struct fixture x;
    char *id;

    fixture_open(&x, text);
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    finish(&x);
    id = strdup(x.f.races[0].id);
    fixture_close(&x);
    return id;
}

static void ids_do_not_depend_on_order_threads_addresses_or_lines(void **state)
{
    char *a = id_of("A|enter(f)|1\nB|enter(g)|2\nA|w(0x10:4)|3\nB|r(0x10:4)|4\n", "3", "4");
    char *b = id_of("Y|enter(g)|9\nX|enter(f)|8\nY|r(0x99:4)|7\nX|w(0x99:4)|6\n", "7", "6");
    char *other_op = id_of("A|enter(f)|1\nB|enter(g)|2\nA|w(0x10:4)|3\nB|w(0x10:4)|4\n", "3", "4");
    char *named = id_of("A|enter(f)|1\nB|enter(g)|2\nA|w(v)|3\nB|r(v)|4\n", "3", "4");

    (void)state;
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), 16);
    assert_string_not_equal(a, other_op);
    assert_string_not_equal(a, named);
    free(a);
    free(b);
    free(other_op);
    free(named);
}

static void ids_depend_on_files(void **state)
{
    char *a = id_of("A|enter(f)|1\nB|enter(f)|2\nA|w(0x10:4)|a.c:3:1\nB|r(0x10:4)|a.c:4:1\n",
                    "a.c:3:1", "a.c:4:1");
    char *lines = id_of("A|enter(f)|1\nB|enter(f)|2\nA|w(0x10:4)|a.c:7:1\nB|r(0x10:4)|a.c:9:1\n",
                        "a.c:7:1", "a.c:9:1");
    char *b = id_of("A|enter(f)|1\nB|enter(f)|2\nA|w(0x10:4)|b.c:3:1\nB|r(0x10:4)|b.c:4:1\n",
                    "b.c:3:1", "b.c:4:1");

    (void)state;
    assert_string_equal(a, lines);
    assert_string_not_equal(a, b);
    free(a);
    free(lines);
    free(b);
}

static void equal_fingerprints_get_numbers_in_the_order_of_their_locations(void **state)
{
    const struct pair found[] = { { 2, "9", 3, "5" }, { 4, "3", 5, "4" }, { 6, "6", 7, "6" } };
    struct fixture x;
    char second[32], third[32];

    (void)state;
    fixture_open(&x, "A|enter(f)|1\nB|enter(f)|2\n"
                     "A|w(0x10:4)|9\nB|w(0x10:4)|5\n"
                     "A|w(0x20:4)|3\nB|w(0x20:4)|4\n"
                     "A|w(0x30:4)|6\nB|w(0x30:4)|6\n");
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 3);
    finish(&x);
    assert_int_equal(x.f.count, 3);
    snprintf(second, sizeof(second), "%.16s-2", x.f.races[1].id);
    snprintf(third, sizeof(third), "%.16s-3", x.f.races[1].id);
    assert_int_equal(strlen(x.f.races[1].id), 16); /* 3 and 4 come first */
    assert_string_equal(x.f.races[0].id, second);  /* then 5 and 9 */
    assert_string_equal(x.f.races[2].id, third);
    fixture_close(&x);
}

/* Two threads and two locks in both orders; T3 does what T2 does, elsewhere. */
static const char crossed[] = "T1|acq(a)|1\nT1|acq(b)|2\nT1|rel(b)|3\nT1|rel(a)|4\n"
                              "T2|acq(b)|5\nT2|acq(a)|6\nT2|rel(a)|7\nT2|rel(b)|8\n"
                              "T3|acq(b)|9\nT3|acq(a)|10\nT3|rel(a)|11\nT3|rel(b)|12\n";

/* A deadlock of T1's request with the one at `event`, which follows its hold. */
static void add_deadlock(struct fixture *x, struct deadlock_table *t, uint64_t event,
                         enum strength strength)
{
    char request[8], hold[8];
    struct deadlock d = { .nwaits = 2, .count = 3, .strength = strength };

    snprintf(request, sizeof(request), "%u", (unsigned)event + 1);
    snprintf(hold, sizeof(hold), "%u", (unsigned)event);
    d.waits = calloc(2, sizeof(*d.waits));
    d.waits[0] = (struct lock_wait){ { 1, site(x, "2") }, { 0, site(x, "1") }, 0 };
    d.waits[1] = (struct lock_wait){ { event, site(x, request) }, { event - 1, site(x, hold) }, 0 };
    deadlock_table_add(t, &d);
}

static void deadlocks_merge_by_their_locations(void **state)
{
    struct deadlock_table first = { 0 }, second = { 0 };
    const struct deadlock_finding *d;
    struct fixture x;
    struct error err;
    size_t e;

    (void)state;
    fixture_open(&x, crossed);
    add_deadlock(&x, &first, 9, STRENGTH_MAYBE);
    add_deadlock(&x, &second, 5, STRENGTH_MAYBE);
    add_deadlock(&x, &second, 9, STRENGTH_WITNESSED);
    e = findings_add_engine(&x.f, "one", 0, true);
    findings_add_deadlocks(&x.f, e, &first, trace_tables(x.trace));
    e = findings_add_engine(&x.f, "two", 0, true);
    findings_add_deadlocks(&x.f, e, &second, trace_tables(x.trace));
    finish(&x);
    assert_int_equal(x.f.ndeadlocks, 2);
    d = &x.f.deadlocks[0]; /* the stronger one comes first */
    assert_int_equal(d->strength, STRENGTH_WITNESSED);
    assert_int_equal(d->engines, 3);
    assert_int_equal(d->count, 6);
    assert_string_equal(d->waiters[1].request.thread, "T3");
    assert_string_equal(d->waiters[1].request.op, "acquire");
    assert_string_equal(d->waiters[1].lock, "a");
    assert_int_equal(d->waiters[1].request.nlocks, 1); /* it has not got what it waits for */
    assert_string_equal(d->waiters[1].request.locks[0].name, "b");
    assert_string_equal(deadlock_holder(d, 1)->hold_location, "1");
    assert_int_equal(x.f.engines[1].deadlocks, 2);
    assert_string_not_equal(d->id, x.f.deadlocks[1].id);
    assert_int_equal(findings_find(&x.f, x.f.deadlocks[1].id, &err), 1);
    assert_int_equal(findings_find(&x.f, "1", &err), 0);
    deadlock_table_release(&first);
    deadlock_table_release(&second);
    fixture_close(&x);
}

static void races_are_found_by_id_number_or_start(void **state)
{
    const struct pair found[] = { { 1, "2", 2, "3" }, { 5, "4", 6, "5" } };
    struct fixture x;
    struct error err;
    char start[6];

    (void)state;
    fixture_open(&x, simple);
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 2);
    finish(&x);
    assert_int_equal(findings_find(&x.f, x.f.races[1].id, &err), 1);
    assert_int_equal(findings_find(&x.f, "2", &err), 1);
    snprintf(start, sizeof(start), "%s", x.f.races[0].id);
    assert_int_equal(findings_find(&x.f, start, &err), 0);
    assert_true(findings_find(&x.f, "3x", &err) == SIZE_MAX);
    assert_string_equal(err.text,
                        "there is no race '3x': give an id, its start, or a number up to 2");
    assert_true(findings_find(&x.f, "", &err) == SIZE_MAX);
    x.f.races[0].id = "aaaa000000000000";
    x.f.races[1].id = "aaaa000000000001";
    assert_true(findings_find(&x.f, "aaaa", &err) == SIZE_MAX);
    assert_string_equal(err.text, "'aaaa' is the start of 2 race ids");
    fixture_close(&x);
}

static void control_characters_and_broken_utf8_are_escaped(void **state)
{
    struct findings f = { 0 };

    (void)state;
    assert_string_equal(findings_string(&f, "a\033[31mb"), "a\\x1b[31mb");
    assert_string_equal(findings_string(&f, "gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    assert_string_equal(findings_string(&f, "\xff\xc3"), "\\xff\\xc3");
    assert_string_equal(findings_string(&f, "\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* surrogate */
    assert_string_equal(findings_string(&f, "\xc0\x80"), "\\xc0\\x80");          /* overlong */
    assert_string_equal(findings_string(&f, "\xc2\x9b"), "\\xc2\\x9b");          /* C1 control */
    assert_ptr_equal(findings_string(&f, "same"), findings_string(&f, "same"));
    assert_null(findings_string(&f, NULL));
    findings_release(&f);
}

static void locations_split_only_where_they_can_be_put_together_again(void **state)
{
    uint32_t line, column;
    size_t n;

    (void)state;
    assert_true(location_split("dir/a.c:30:7", &n, &line, &column));
    assert_int_equal(n, 7);
    assert_int_equal(line, 30);
    assert_int_equal(column, 7);
    assert_true(location_split("a.c:30", &n, &line, &column));
    assert_int_equal(column, 0);
    assert_false(location_split("14", &n, &line, &column));
    assert_false(location_split(":14", &n, &line, &column));
    assert_false(location_split("a.c:0", &n, &line, &column));
    assert_false(location_split("a.c:007", &n, &line, &column));
    assert_false(location_split("a.c:", &n, &line, &column));
    assert_false(location_split("a.c:12345678901", &n, &line, &column));
}

static void a_trace_that_lost_its_events_since_is_an_error(void **state)
{
    const struct pair found[] = { { 1, "2", 99, "3" } };
    struct fixture x;
    struct error err;

    (void)state;
    fixture_open(&x, simple);
    add_engine(&x, "hb", STRENGTH_MAYBE, found, 1);
    assert_int_equal(findings_finish(&x.f, x.trace, &err), -1);
    assert_string_equal(err.text, "the trace changed while it was read: event 99 is gone");
    fixture_close(&x);
}

/* ---- stopped while details are collected ---- */

static bool stop_at_once(void *calls, const struct trace_info *info)
{
    (void)info;
    ++*(unsigned *)calls;
    return true;
}

/* Two races far apart: more than a batch lies between them. */
static char *far_apart(unsigned *events)
{
    struct buf text = { 0 };

    buf_addstr(&text, simple);
    for (*events = 7; *events < 50000; ++*events)
        buf_addstr(&text, "A|r(z)|6\n");
    buf_addstr(&text, "A|w(late)|7\nB|w(late)|8\n");
    *events += 2;
    return buf_detach(&text);
}

static void of_a_stop_what_has_no_details_is_told_by_its_places(void **state)
{
    unsigned n, calls = 0;
    char *text = far_apart(&n);
    const struct pair found[] = { { 1, "2", 2, "3" }, { n - 2, "7", n - 1, "8" } };
    struct fixture x;

    (void)state;
    fixture_open(&x, text);
    add_engine(&x, "hb", STRENGTH_OBSERVED, found, 2);
    x.f.progress = stop_at_once;
    x.f.progress_arg = &calls;
    finish(&x);
    assert_int_equal(calls, 1);
    assert_true(x.f.stopped);
    assert_int_equal(x.f.count, 1);
    assert_string_equal(x.f.races[0].variable, "x");
    assert_string_equal(x.f.races[0].sides[1].thread, "B");
    assert_int_equal(x.f.races[0].nschedule, 0);
    assert_int_equal(x.f.engines[0].races, 1);
    assert_int_equal(x.f.untold.count, 1);
    assert_string_equal(x.f.untold.names[0], "7 and 8, observed");
    assert_int_equal(x.f.untold_strength, STRENGTH_OBSERVED);
    fixture_close(&x);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_of_locations_merge_whatever_their_order),
        cmocka_unit_test(the_strongest_engine_brings_its_instance_and_its_witness),
        cmocka_unit_test(findings_are_sorted_by_strength_then_by_position),
        cmocka_unit_test(the_second_pass_fills_in_values_threads_and_creators),
        cmocka_unit_test(locks_are_those_held_at_the_access_in_the_order_taken),
        cmocka_unit_test(stacks_follow_enter_and_exit),
        cmocka_unit_test(deep_recursion_keeps_the_inner_frames_and_counts_the_rest),
        cmocka_unit_test(an_address_shows_the_bytes_both_accesses_touch),
        cmocka_unit_test(an_address_belongs_to_its_last_allocation_before_the_access),
        cmocka_unit_test(memory_that_was_never_allocated_has_no_allocation),
        cmocka_unit_test(ids_do_not_depend_on_order_threads_addresses_or_lines),
        cmocka_unit_test(ids_depend_on_files),
        cmocka_unit_test(equal_fingerprints_get_numbers_in_the_order_of_their_locations),
        cmocka_unit_test(deadlocks_merge_by_their_locations),
        cmocka_unit_test(races_are_found_by_id_number_or_start),
        cmocka_unit_test(control_characters_and_broken_utf8_are_escaped),
        cmocka_unit_test(locations_split_only_where_they_can_be_put_together_again),
        cmocka_unit_test(a_trace_that_lost_its_events_since_is_an_error),
        cmocka_unit_test(of_a_stop_what_has_no_details_is_told_by_its_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
