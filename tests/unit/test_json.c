/* test_json.c - results as JSON: the same bytes after a round trip, exact errors for bad ones */
#include "report/json.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int read_text(struct findings *f, const char *text, struct error *err)
{
    FILE *in = fmemopen((char *)text, strlen(text), "r");
    int r;

    assert_non_null(in);
    r = json_read(f, in, err);
    fclose(in);
    return r;
}

static char *write_text(const struct findings *f)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    json_write(f, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Everything a result may hold; %s places take a fault. */
#define TRACE                                                                                      \
    "\"trace\": {\"path\": \"a \\\"b\\\" \\\\ c\", \"format\": \"std\", \"events\": 100,"          \
    "\"threads\": 3, \"order\": \"sync-exact\", \"values\": true, \"branches\": true,"             \
    "\"calls\": false, \"lost\": {\"bytes\": 12, \"reason\": \"chunk 17: bad checksum\"},"         \
    "\"repaired\": 2, \"diagnoses\": [{\"kind\": \"k\", \"event\": 3, \"text\": \"odd\"}],"        \
    "\"diagnosed\": {\"k\": 9}}"
#define ENGINES                                                                                    \
    "\"engines\": [{\"name\": \"hb\", \"seconds\": 0.25, \"races\": 1, \"complete\": true,"        \
    "\"counters\": {\"b\": 1, \"a\": 2}}, {\"name\": \"mc\", \"seconds\": 3, \"races\": 1,"        \
    "\"complete\": false, \"counters\": {}}]"
#define FIRST                                                                                      \
    "{\"event\": 12, \"thread\": \"T1\", \"op\": \"write\", \"location\": \"14\","                 \
    "\"function\": \"f\", \"value\": \"18446744073709551615\", \"locks\": [\"L1\", \"L2\"],"       \
    "\"held\": [{\"lock\": \"L1\", \"shared\": false, \"location\": \"9\", \"event\": 1},"         \
    "{\"lock\": \"L2\", \"shared\": true}], \"stack\": [{\"function\": \"f\", \"file\": \"a.c\","  \
    "\"line\": 3, \"column\": 7}, {\"function\": \"g\", \"file\": \"a.c\", \"line\": 4},"          \
    "{\"location\": \"17\"}], \"stack_omitted\": 5,"                                               \
    "\"created\": {\"thread\": \"T0\", \"location\": \"1\", \"event\": 0}}"
#define SECOND                                                                                     \
    "{\"event\": 20, \"thread\": \"T2\", \"op\": \"atomic-rmw\", \"order\": \"sc\","               \
    "\"location\": \"15\", \"value\": \"2\", \"old\": \"-1\", \"locks\": [], \"stack\": []}"
#define HEAD                                                                                       \
    "\"id\": \"0123456789abcdef\", \"variable\": \"struct q::head\","                              \
    "\"engines\": [\"hb\", \"mc\"], \"strength\": \"witnessed\", \"count\": 4"
#define WITNESS                                                                                    \
    "\"schedule\": [{\"step\": 1, \"event\": 3, \"thread\": \"T0\", \"operation\": \"w(x)\","      \
    "\"location\": \"2\"}], \"witness\": [0, 3, 20, 12]"
#define RACE                          "{" HEAD ", \"accesses\": [" FIRST ", " SECOND "], " WITNESS "}"
#define RESULT(trace, engines, races) WHOLE_RESULT(trace, engines, races, "")
#define WHOLE_RESULT(trace, engines, races, deadlocks)                                             \
    "{\"schema\": 1, " trace ", " engines ", \"races\": [" races "], \"deadlocks\": [" deadlocks   \
    "], \"suppressed\": 7}"
#define WAITS(lock, holder, held, event, thread)                                                   \
    "{\"lock\": \"" lock "\", \"holder\": {\"thread\": \"" holder                                  \
    "\", \"location\": \"7\", \"event\": 2}, \"event\": " event ", \"thread\": \"" thread          \
    "\", \"op\": \"acquire\", \"location\": \"8\", \"locks\": [\"" held "\"], \"stack\": []}"
#define DEADLOCK_HEAD                                                                              \
    "\"id\": \"fedcba9876543210\", \"engines\": [\"mc\"], \"strength\": \"witnessed\", "           \
    "\"count\": 2"
#define DEADLOCK(requests)                                                                         \
    "{" DEADLOCK_HEAD ", \"requests\": [" requests "], \"schedule\": [], \"witness\": [2, 5, 6, "  \
    "9]}"
#define RING                     WAITS("b", "T2", "a", "6", "T1") ", " WAITS("a", "T1", "b", "9", "T2")
#define FOUND_DEADLOCK(requests) WHOLE_RESULT(TRACE, ENGINES, "", DEADLOCK(requests))

static void a_result_reads_back_in_full(void **state)
{
    struct findings f = { 0 };
    const struct side *s;
    struct error err;

    (void)state;
    assert_int_equal(read_text(&f, RESULT(TRACE, ENGINES, RACE), &err), 0);
    assert_string_equal(f.trace.path, "a \"b\" \\ c");
    assert_int_equal(f.trace.order, TRACE_SYNC_EXACT);
    assert_string_equal(f.trace.loss, "chunk 17: bad checksum");
    assert_int_equal(f.trace.diagnosis_totals[0].value, 9);
    assert_int_equal(f.nengines, 2);
    assert_false(f.engines[1].complete);
    assert_string_equal(f.engines[0].counters[0].name, "b"); /* order is kept */
    assert_int_equal(f.count, 1);
    assert_int_equal(f.races[0].strength, STRENGTH_WITNESSED);
    assert_int_equal(f.races[0].engines, 3);
    assert_int_equal(f.races[0].nwitness, 4);
    s = f.races[0].sides;
    assert_string_equal(s[0].value, "18446744073709551615");
    assert_true(s[0].locks[1].shared);
    assert_string_equal(s[0].stack.frames[0].location, "a.c:3:7");
    assert_string_equal(s[0].stack.frames[1].location, "a.c:4");
    assert_string_equal(s[1].old, "-1");
    assert_null(s[1].function);
    assert_int_equal(f.suppressed, 7);
    findings_release(&f);
}

static void writing_what_was_read_is_a_fixed_point(void **state)
{
    struct findings f = { 0 }, g = { 0 };
    struct error err;
    char *once, *twice;

    (void)state;
    assert_int_equal(read_text(&f, RESULT(TRACE, ENGINES, RACE), &err), 0);
    once = write_text(&f);
    assert_int_equal(read_text(&g, once, &err), 0);
    twice = write_text(&g);
    assert_string_equal(once, twice);
    assert_non_null(strstr(once, "\"witness\": [0, 3, 20, 12]"));
    free(once);
    free(twice);
    findings_release(&f);
    findings_release(&g);
}

static void deadlocks_read_back_in_full(void **state)
{
    struct findings f = { 0 }, g = { 0 };
    const struct deadlock_finding *d;
    struct error err;
    char *once, *twice;

    (void)state;
    assert_int_equal(read_text(&f, FOUND_DEADLOCK(RING), &err), 0);
    assert_int_equal(f.ndeadlocks, 1);
    d = f.deadlocks;
    assert_int_equal(d->strength, STRENGTH_WITNESSED);
    assert_int_equal(d->engines, 2);
    assert_int_equal(d->count, 2);
    assert_int_equal(d->nwaiters, 2);
    assert_string_equal(d->waiters[0].lock, "b");
    assert_string_equal(d->waiters[0].request.locks[0].name, "a");
    assert_ptr_equal(deadlock_holder(d, 1), &d->waiters[0]);
    assert_int_equal(d->waiters[1].hold_event, 2);
    assert_int_equal(d->nwitness, 4);
    once = write_text(&f);
    assert_int_equal(read_text(&g, once, &err), 0);
    twice = write_text(&g);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    findings_release(&f);
    findings_release(&g);
}

static void what_the_contract_does_not_promise_may_be_missing(void **state)
{
    struct findings f = { 0 };
    struct error err;

    (void)state;
    assert_int_equal(
        read_text(&f,
                  "{\"schema\": 1, \"trace\": {\"path\": \"p\", \"events\": 9, \"threads\": 1,"
                  "\"order\": \"exact\", \"values\": false}, \"engines\": [], \"races\": [],"
                  "\"future\": {\"x\": [null]}}",
                  &err),
        0);
    assert_null(f.trace.format);
    assert_null(f.trace.loss);
    findings_release(&f);
}

/* Each text is wrong in one place, and the error names it. */
static void faults_are_named_with_their_place(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { " ", "line 1, column 1: '[' or '{' expected near end of file" },
        { "{\"schema\": 1,}", "line 1, column 14: string or '}' expected near '}'" },
        { "{\"schema\": 1, \"schema\": 1}", "line 1, column 22: duplicate object key near "
                                            "'\"schema\"'" },
        { "[1]", "expected an object, not an array" },
        { "{}", "'schema' is missing" },
        { "{\"schema\": 3}", "schema: this version knows only 1 to 2" },
        { "{\"schema\": \"1\"}", "schema: expected an integer, not a string" },
        { "{\"schema\": 1}", "'trace' is missing" },
        { "{\"schema\": 1, \"trace\": 5}", "trace: expected an object, not an integer" },
        { "{\"schema\": 1, \"trace\": {\"path\": \"x\", \"events\": -1}}",
          "trace.events: -1 is negative" },
        { "{\"schema\": 1, \"trace\": {\"path\": \"x\", \"events\": 1.5}}",
          "trace.events: expected an integer, not a fraction" },
        { "{\"schema\": 1, \"trace\": {\"path\": \"x\", \"events\": 1, \"threads\": 1,"
          " \"order\": \"wrong\"}}",
          "trace.order: unknown value 'wrong'" },
        { "{\"schema\": 1, \"trace\": {\"path\": \"x\", \"events\": 1, \"threads\": 1,"
          " \"order\": \"exact\", \"values\": 1}}",
          "trace.values: expected true or false, not an integer" },
        { RESULT(TRACE, "\"engines\": [{\"name\": \"hb\", \"seconds\": \"fast\"}]", ""),
          "engines[0].seconds: expected a number, not a string" },
        { RESULT(TRACE, "\"engines\": {}", ""), "engines: expected an array, not an object" },
        { RESULT(TRACE, ENGINES, "5"), "races[0]: expected an object, not an integer" },
        { WHOLE_RESULT(TRACE, ENGINES, "", "5"),
          "deadlocks[0]: expected an object, not an integer" },
        { WHOLE_RESULT(TRACE, ENGINES, "", "{" DEADLOCK_HEAD "}"),
          "deadlocks[0]: 'requests' is missing" },
        { FOUND_DEADLOCK(""), "deadlocks[0].requests: a deadlock has a request or more, not 0" },
        { FOUND_DEADLOCK(WAITS("b", "T2", "a", "6", "T1")),
          "deadlocks[0].requests: T1 waits for T2, which is not the thread of the next request" },
        { FOUND_DEADLOCK(WAITS("b", "T2", "a", "6", "T1") ", " WAITS("a", "T3", "b", "9", "T2")),
          "deadlocks[0].requests: T2 waits for T3, which is not the thread of the next request" },
        { FOUND_DEADLOCK(WAITS("b", "T2", "a", "100", "T1") ", {}"),
          "deadlocks[0].requests[0].event: there is no event 100 in a trace of 100" },
        { FOUND_DEADLOCK("{\"lock\": \"a\", \"holder\": 1}, {}"),
          "deadlocks[0].requests[0].holder: expected an object, not an integer" },
        { RESULT(TRACE, ENGINES, "{" HEAD "}"), "races[0]: 'accesses' is missing" },
        { RESULT(TRACE, ENGINES, "{" HEAD ", \"accesses\": [" FIRST "]}"),
          "races[0].accesses: a race has two accesses, not 1" },
        { RESULT(TRACE, ENGINES, "{" HEAD ", \"accesses\": [" SECOND ", " FIRST "]}"),
          "races[0].accesses: not in trace order" },
        { RESULT(TRACE, ENGINES, RACE ", {" HEAD ", \"accesses\": [" FIRST ", {\"event\": 100}]}"),
          "races[1].accesses[1].event: there is no event 100 in a trace of 100" },
        { RESULT(TRACE, ENGINES,
                 "{" HEAD ", \"accesses\": [" FIRST ", " SECOND "], \"witness\": [0, \"1\"]}"),
          "races[0].witness[1]: expected an integer, not a string" },
        { RESULT(TRACE, ENGINES,
                 "{" HEAD ", \"accesses\": [" FIRST ", " SECOND "], \"witness\": [0, 1000]}"),
          "races[0].witness[1]: there is no event 1000 in a trace of 100" },
        { RESULT(TRACE, "\"engines\": []", RACE),
          "races[0].engines[0]: engine 'hb' is not in 'engines' of the result" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct findings f = { 0 };
        struct error err = { "" };

        assert_int_equal(read_text(&f, cases[i].text, &err), -1);
        assert_string_equal(err.text, cases[i].error);
        assert_null(f.races); /* nothing is left behind */
    }
}

/* Cut anywhere, a result is refused and nothing leaks or crashes. */
static void no_prefix_of_a_result_is_a_result(void **state)
{
    const char *whole = RESULT(TRACE, ENGINES, RACE);

    (void)state;
    for (size_t n = 1; n < strlen(whole); n++) {
        struct findings f = { 0 };
        struct error err;
        char *part = xstrndup(whole, n);

        assert_int_equal(read_text(&f, part, &err), -1);
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_reads_back_in_full),
        cmocka_unit_test(writing_what_was_read_is_a_fixed_point),
        cmocka_unit_test(deadlocks_read_back_in_full),
        cmocka_unit_test(what_the_contract_does_not_promise_may_be_missing),
        cmocka_unit_test(faults_are_named_with_their_place),
        cmocka_unit_test(no_prefix_of_a_result_is_a_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
