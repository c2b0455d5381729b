/* test_options.c - the command line parser and its table */
#include "cmd/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Parse words after a command's name; the array ends with NULL. */
static int parse(struct options *o, const char *command, char **words, struct error *err)
{
    int n = 0;

    while (words[n])
        n++;
    return options_parse(o, command_find(command), n, words, err);
}

#define PARSE(o, command, ...) parse(&(o), command, (char *[]){ __VA_ARGS__, NULL }, &err)

static void expect_error(const char *command, char **words, const char *text)
{
    struct options o;
    struct error err = { "" };

    assert_int_equal(parse(&o, command, words, &err), -1);
    assert_string_equal(err.text, text);
    options_release(&o);
}

#define FAILS(command, text, ...) expect_error(command, (char *[]){ __VA_ARGS__, NULL }, text)

static void values_come_attached_or_as_the_next_word(void **state)
{
    struct options o;
    struct error err;

    (void)state;
    assert_int_equal(PARSE(o, "analyze", "--engine=hb", "--format", "json", "-o", "f", "t"), 0);
    assert_string_equal(o.texts[OPT_ENGINE], "hb");
    assert_string_equal(o.texts[OPT_FORMAT], "json");
    assert_string_equal(o.texts[OPT_OUTPUT], "f");
    assert_string_equal(o.arguments[0], "t");
    options_release(&o);
    assert_int_equal(PARSE(o, "analyze", "t", "-qof"), 0); /* flag, then a value attached */
    assert_true(option_is(&o, OPT_QUIET));
    assert_string_equal(o.texts[OPT_OUTPUT], "f");
    options_release(&o);
    assert_int_equal(PARSE(o, "analyze", "--output=", "t"), 0);
    assert_string_equal(o.texts[OPT_OUTPUT], "");
    options_release(&o);
}

static void defaults_stand_where_nothing_is_given_and_the_last_one_counts(void **state)
{
    struct options o;
    struct error err;

    (void)state;
    assert_int_equal(PARSE(o, "analyze", "t"), 0);
    assert_string_equal(o.texts[OPT_FORMAT], "text");
    assert_string_equal(o.texts[OPT_EFFORT], "normal");
    assert_false(option_is(&o, OPT_ENGINE));
    assert_true(o.numbers[OPT_MAX_WITNESS] > 0);
    assert_false(option_is(&o, OPT_QUIET));
    options_release(&o);
    assert_int_equal(PARSE(o, "analyze", "-f", "json", "-f", "text", "t"), 0);
    assert_string_equal(o.texts[OPT_FORMAT], "text");
    options_release(&o);
}

static void two_dashes_end_options_and_one_is_an_argument(void **state)
{
    struct options o;
    struct error err;

    (void)state;
    assert_int_equal(PARSE(o, "convert", "-", "--", "--help"), 0);
    assert_int_equal(o.narguments, 2);
    assert_string_equal(o.arguments[0], "-");
    assert_string_equal(o.arguments[1], "--help");
    assert_false(option_is(&o, OPT_HELP));
    options_release(&o);
}

static void numbers_are_checked_to_the_last_bit(void **state)
{
    struct options o;
    struct error err;

    (void)state;
    assert_int_equal(PARSE(o, "dump", "--from=18446744073709551615", "--count", "3k", "t"), 0);
    assert_true(o.numbers[OPT_FROM] == UINT64_MAX);
    assert_int_equal(o.numbers[OPT_COUNT], 3000);
    options_release(&o);
    FAILS("dump", "option '--from' takes a number, not '18446744073709551616'",
          "--from=18446744073709551616", "t");
    FAILS("dump", "option '--from' takes a number, not '18446744073709551615k'",
          "--from=18446744073709551615k", "t");
    FAILS("dump", "option '--from' takes a number, not '-1'", "--from", "-1", "t");
    FAILS("dump", "option '--from' takes a number, not ''", "--from=", "t");
    FAILS("dump", "option '--from' takes a number, not '1x'", "--from=1x", "t");
}

static void mistakes_are_named_and_near_ones_get_a_suggestion(void **state)
{
    (void)state;
    FAILS("analyze", "unknown option '--fromat', did you mean '--format'?", "--fromat=json", "t");
    FAILS("analyze", "unknown option '--form', did you mean '--format'?", "--form", "json", "t");
    FAILS("analyze", "unknown option '--zzz'", "--zzz", "t");
    FAILS("analyze", "unknown option '-Z'", "-Z", "t");
    FAILS("analyze", "option '--quiet' takes no value", "--quiet=1", "t");
    FAILS("analyze", "option '--engine' needs a value (LIST|all)", "t", "--engine");
    FAILS("analyze", "option '--format' takes one of text|json|sarif|junit|html|github, not 'xml'",
          "t", "-fxml");
    FAILS("analyze", "option '--format' takes one of text|json|sarif|junit|html|github, not ''",
          "t", "-f", "");
    FAILS("analyze", "too many arguments: 'b'", "a", "b");
    FAILS("explain", "'explain' needs TRACE|RESULT.json RACE", "a");
}

static void help_needs_no_arguments(void **state)
{
    struct options o;
    struct error err;

    (void)state;
    assert_int_equal(PARSE(o, "explain", "--help"), 0);
    assert_true(option_is(&o, OPT_HELP));
    options_release(&o);
}

/* The parser trusts the table, so the table is tested. */
static void the_table_is_consistent(void **state)
{
    (void)state;
    for (const struct command *c = commands; c->name; c++) {
        assert_ptr_equal(command_find(c->name), c);
        assert_non_null(c->run);
        assert_true(c->min_arguments <= c->max_arguments);
        assert_true(c->detail[strlen(c->detail) - 1] == '\n');
        for (const struct option_def *d = c->options; d->name; d++) {
            struct options o;
            struct error err;

            assert_int_equal(d->kind == KIND_FLAG, d->argument == NULL);
            for (const struct option_def *e = c->options; e < d; e++) {
                assert_string_not_equal(e->name, d->name);
                assert_true(e->id != d->id);
                assert_true(!d->letter || e->letter != d->letter);
            }
            assert_int_equal(options_parse(&o, c, 1, (char *[]){ "--help", NULL }, &err), 0);
            if (d->initial) /* a default that the parser would refuse is not set */
                assert_string_equal(o.texts[d->id], d->initial);
            options_release(&o);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_attached_or_as_the_next_word),
        cmocka_unit_test(defaults_stand_where_nothing_is_given_and_the_last_one_counts),
        cmocka_unit_test(two_dashes_end_options_and_one_is_an_argument),
        cmocka_unit_test(numbers_are_checked_to_the_last_bit),
        cmocka_unit_test(mistakes_are_named_and_near_ones_get_a_suggestion),
        cmocka_unit_test(help_needs_no_arguments),
        cmocka_unit_test(the_table_is_consistent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
