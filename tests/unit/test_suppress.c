/* test_suppress.c - rules: patterns, the three syntaxes, what they match */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "report/patterns.h"
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

/* Short patterns and texts of few letters, so that much matches; every answer is that of trying the
 * rules one after the other. */
static void all_patterns_at_once_are_one_after_the_other(void **state)
{
    static const char letters[] = "aabbc*^$";
    char pattern[12][8], text[16];
    uint64_t seed = 7;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct patterns p = { 0 };
        uint32_t want = PATTERNS_NONE;

        for (int i = 11; i >= 0; i--) {
            size_t n = (seed = map_hash(seed + 1)) % 5 + 1;

            for (size_t k = 0; k < n; k++)
                pattern[i][k] = letters[(seed = map_hash(seed + 1)) % 8];
            pattern[i][n] = 0;
            patterns_add(&p, pattern[i], (uint32_t)i);
        }
        patterns_seal(&p);
        for (size_t k = 0; k < sizeof(text); k++)
            text[k] = letters[(seed = map_hash(seed + 1)) % 5];
        text[(seed = map_hash(seed + 1)) % sizeof(text)] = 0;
        text[sizeof(text) - 1] = 0;
        for (uint32_t i = 0; i < 12 && want == PATTERNS_NONE; i++)
            want = pattern_matches(pattern[i], text) ? i : PATTERNS_NONE;
        assert_int_equal(patterns_first(&p, text), want);
        patterns_release(&p);
    }
}

/* As many rules as texts, long ones among them: a text is compared with the rules it may match. */
static void rules_are_not_tried_one_by_one(void **state)
{
    enum { RULES = 100000, LONG = 20000 };
    struct patterns p = { 0 };
    struct intern texts = { 0 };
    char line[64], *repeated = malloc(LONG + 1);
    uint32_t hits = 0;

    (void)state;
    for (uint32_t i = 0; i < RULES; i++)
        intern_put(&texts, line,
                   (size_t)snprintf(line, sizeof(line), "src/part%u/file.c:%u", i, i));
    for (uint32_t i = RULES; i > 0; i--)
        patterns_add(&p, strchr(intern_get(&texts, i - 1), '/'), i - 1);
    patterns_add(&p, "a*b", 0);
    patterns_seal(&p);
    for (uint32_t i = 0; i < RULES; i++)
        hits += patterns_first(&p, intern_get(&texts, i)) == i;
    memset(repeated, 'a', LONG);
    repeated[LONG] = 0;
    assert_int_equal(patterns_first(&p, repeated), PATTERNS_NONE);
    assert_int_equal(hits, RULES);
    assert_true(p.tried < 12 * RULES); /* .../file.c:1 is in .../file.c:1234, too */
    patterns_release(&p);
    intern_release(&texts);
    free(repeated);
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

/* A deep stack and a block of many "...": all ways to place these would be 10^20. */
static void dots_are_tried_in_one_go(void **state)
{
    enum { DEEP = 64 };
    static struct frame frames[DEEP];
    struct finding race = { .id = "0", .variable = "x" };
    struct findings f = { .races = &race, .count = 1 };
    struct suppressions s = { 0 };
    struct buf text = { 0 };
    struct error err;

    (void)state;
    for (int i = 0; i < DEEP; i++)
        frames[i] = (struct frame){ "f", "a.c:1", false };
    race.sides[0] = race.sides[1] =
        (struct side){ .function = "f", .location = "a.c:1", .stack = { frames, DEEP, 0 } };
    buf_addstr(&text, "{\n  n\n  Helgrind:Race\n");
    for (int i = 0; i < 20; i++)
        buf_addstr(&text, "  ...\n  fun:f\n");
    buf_addstr(&text, "  fun:g\n}\n");
    assert_int_equal(suppressions_parse(&s, "t", text.data, &err), 0);
    suppressions_apply(&s, &f);
    assert_int_equal(f.count, 1);
    arena_release(&f.memory);
    intern_release(&f.strings);
    suppressions_release(&s);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(thread_sanitizer),
        cmocka_unit_test(our_own),
        cmocka_unit_test(valgrind),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(hits),
        cmocka_unit_test(many_findings),
        cmocka_unit_test(dots_are_tried_in_one_go),
        cmocka_unit_test(all_patterns_at_once_are_one_after_the_other),
        cmocka_unit_test(rules_are_not_tried_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
