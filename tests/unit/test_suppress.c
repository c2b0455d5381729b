/* test_suppress.c - rules: patterns, the three syntaxes, what they match */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "report/suppress.h"

static void patterns(void **state)
{
    (void)state;
    assert_true(pattern_matches("foo", "a_foo_b"));
    assert_true(pattern_matches("^foo", "foobar"));
    assert_false(pattern_matches("^foo", "afoo"));
    assert_true(pattern_matches("foo$", "afoo"));
    assert_false(pattern_matches("foo$", "foob"));
    assert_true(pattern_matches("^a*b*c$", "axbxbxc"));
    assert_false(pattern_matches("^a*b*c$", "axbxbxcd"));
    assert_true(pattern_matches("*", ""));
    assert_true(pattern_matches("a*", "xa"));
    assert_false(pattern_matches("a", ""));
    assert_false(pattern_matches("a", NULL));
    /* many stars must not take for ever */
    assert_false(
        pattern_matches("^*a*a*a*a*a*a*a*a*a*a*a*a*b$",
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

/* Two races: f/g on x, and h/k on y in a library. */
static struct frame f_frames[] = { { "f", "a.c:1:2", false }, { "main", "m.c:9", false } };
static struct frame g_frames[] = { { "g", "b.c:3:4", false }, { "run", "/usr/src/p.c:7", false } };
static struct frame h_frames[] = { { "h", "libz.so.1+0x1234", false }, { "run", "p.c:7", false } };

static void fill(struct findings *f)
{
    static struct finding races[2];

    *f = (struct findings){ 0 };
    f->races = races;
    f->count = 2;
    races[0] = (struct finding){ .id = "0123456789abcdef", .variable = "x" };
    races[1] = (struct finding){ .id = "fedcba9876543210", .variable = "struct s::y" };
    for (int i = 0; i < 4; i++) {
        struct frame *frames = i == 0 ? f_frames : i == 1 ? g_frames : h_frames;

        races[i / 2].sides[i % 2] = (struct side){ .function = frames[0].function,
                                                   .location = frames[0].location,
                                                   .stack = { frames, 2, 0 } };
    }
}

/* Which races the rules leave: a bit each. */
static unsigned left_by(const char *text)
{
    struct suppressions s = { 0 };
    struct findings f;
    struct error err;
    unsigned left = 0;

    fill(&f);
    assert_int_equal(suppressions_parse(&s, "t", text, &err), 0);
    suppressions_apply(&s, &f);
    for (size_t i = 0; i < f.count; i++)
        left |= f.races[i].id[0] == '0' ? 1 : 2;
    assert_int_equal(f.count + f.suppressed, 2);
    f.races = NULL;
    f.count = 0;
    findings_release(&f);
    suppressions_release(&s);
    return left;
}

static void thread_sanitizer(void **state)
{
    (void)state;
    assert_int_equal(left_by(""), 3);
    assert_int_equal(left_by("race:f\n"), 2);
    assert_int_equal(left_by("race:^run$"), 0);
    assert_int_equal(left_by("# c\n\n  race:a.c \r\n"), 2);
    assert_int_equal(left_by("race_top:run"), 3);
    assert_int_equal(left_by("race_top:^g$"), 2);
    assert_int_equal(left_by("called_from_lib:libz"), 1);
    assert_int_equal(left_by("called_from_lib:libc"), 3);
    assert_int_equal(left_by("deadlock:f\nmutex:f\nthread:f\nsignal:f"), 3);
    assert_int_equal(left_by("race:s::y"), 1);
}

static void our_own(void **state)
{
    (void)state;
    assert_int_equal(left_by("id:0123456789abcdef"), 2);
    assert_int_equal(left_by("id:0123"), 3);
    assert_int_equal(left_by("variable:^x$"), 2);
    assert_int_equal(left_by("variable:f"), 3);
    assert_int_equal(left_by("location:b.c:3"), 2);
}

static void valgrind(void **state)
{
    (void)state;
    assert_int_equal(left_by("{\nn\nHelgrind:Race\nfun:f\n}"), 2);
    assert_int_equal(left_by("{\nn\nHelgrind:Race\nfun:main\n}"), 3);
    assert_int_equal(left_by("{\nn\nHelgrind:Race\n...\nfun:ma*\n}"), 2);
    assert_int_equal(left_by("{\nn\nHelgrind:Race\nfun:f\nfun:main\n}"), 2);
    assert_int_equal(left_by("{\nn\nHelgrind:Race\nfun:f\nfun:main\nfun:more\n}"), 3);
    assert_int_equal(left_by("{\nn\ndrd:ConflictingAccess\nobj:*/libz.so.*\n}"), 1);
    assert_int_equal(left_by("{\nn\nHelgrind:Race\n...\nsrc:p.c:7\n}"), 0);
    assert_int_equal(left_by("{\nn\nHelgrind:Race\nsrc:p.c\n}"), 3);
    assert_int_equal(left_by("{\nn\nMemcheck:Leak\nmatch-leak-kinds: all\nfun:f\n}"), 3);
}

static void refused(const char *text, const char *message)
{
    struct suppressions s = { 0 };
    struct error err;

    assert_int_equal(suppressions_parse(&s, "t", text, &err), -1);
    assert_string_equal(err.text, message);
    suppressions_release(&s);
}

static void mistakes(void **state)
{
    (void)state;
    refused("rase:x", "t:1: unknown keyword 'rase'");
    refused("\nrace:", "t:2: the pattern is missing");
    refused("race", "t:1: neither 'keyword:pattern' nor the start of a block");
    refused("race:x\n{\n", "t:2: a block needs a name");
    refused("{\nn\nfoo\n}", "t:3: a block needs a line 'tool:kind'");
    refused("{\nn\nHelgrind:Race\nfun:f\n", "t:1: the block has no end");
    refused("{\nn\nHelgrind:Race\nf\n}", "t:4: a frame is fun:, obj:, src: or ...");
}

/* The first rule that matches counts, whether it is about an id or not. */
static void hits(void **state)
{
    struct suppressions s = { 0 };
    struct findings f;
    struct error err;

    (void)state;
    fill(&f);
    assert_int_equal(suppressions_parse(&s, "t",
                                        "race:nobody\nid:0123456789abcdef\nrace:^f$\nrace:h\n"
                                        "id:0123456789abcdef\nid:fedcba9876543210\n",
                                        &err),
                     0);
    suppressions_apply(&s, &f);
    assert_int_equal(f.suppressed, 2);
    for (size_t i = 0; i < s.count; i++)
        assert_int_equal(s.rules[i].hits, i == 1 || i == 3);
    f.races = NULL;
    findings_release(&f);
    suppressions_release(&s);
}

/* Each finding against each rule, or each known one, would be 11 billion comparisons. */
enum { MANY = 150000 };

static void fill_many(struct findings *f, struct buf *rules)
{
    *f = (struct findings){ 0 };
    f->races = xcalloc(MANY, sizeof(*f->races));
    f->count = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        char id[20];

        snprintf(id, sizeof(id), "%016x", i);
        f->races[i].id = findings_string(f, id);
        buf_addf(rules, "id:%s\n", id);
    }
}

static void many_findings(void **state)
{
    struct suppressions s = { 0 };
    struct findings f, known;
    struct buf rules = { 0 }, same = { 0 };
    struct error err;

    (void)state;
    fill_many(&known, &same);
    fill_many(&f, &rules);
    assert_int_equal(suppressions_parse(&s, "t", rules.data, &err), 0);
    suppressions_apply(&s, &f);
    assert_int_equal(f.suppressed, MANY);
    findings_release(&f);

    fill_many(&f, &same);
    assert_int_equal(findings_subtract(&f, &known), MANY);
    assert_int_equal(f.count, 0);
    findings_release(&f);
    findings_release(&known);
    suppressions_release(&s);
    buf_release(&rules);
    buf_release(&same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),      cmocka_unit_test(thread_sanitizer),
        cmocka_unit_test(our_own),       cmocka_unit_test(valgrind),
        cmocka_unit_test(mistakes),      cmocka_unit_test(hits),
        cmocka_unit_test(many_findings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
