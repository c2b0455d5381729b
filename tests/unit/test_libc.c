/* The table of library functions: every row can be read, and says nothing that contradicts itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <string.h>

#include "abi/rt_libc.h"

/* How many arguments the row describes; *star: and all further ones. */
static unsigned letters(const struct libc_function *f, bool *star)
{
    unsigned n = 0;

    *star = false;
    for (const char *c = f->args; *c; c++) {
        n += *c == '-' || isalpha((unsigned char)*c);
        *star |= *c == '*';
    }
    return n;
}

static void names_stand_once_and_sorted(void **state)
{
    size_t n;
    const struct libc_function *f = libc_functions(&n);

    (void)state;
    assert_true(n > 1800);
    for (size_t i = 1; i < n; i++) {
        assert_true(f[i - 1].pattern <= f[i].pattern);
        if (!f[i].pattern && strcmp(f[i - 1].name, f[i].name) >= 0)
            fail_msg("%s twice, or not in order", f[i].name);
        for (size_t k = 0; f[i].pattern && k < i; k++)
            assert_string_not_equal(f[k].name, f[i].name);
    }
}

static void a_name_is_found_as_it_stands(void **state)
{
    size_t n;
    const struct libc_function *f = libc_functions(&n);

    (void)state;
    for (size_t i = 0; i < n; i++)
        if (!f[i].pattern)
            assert_ptr_equal(libc_find(f[i].name), &f[i]);
}

static void check_extent(const struct libc_function *f, const struct libc_extent *e)
{
    int most = f->modelled >= 0 ? f->modelled - 1 : 9;

    if (e->bytes > most || e->times > most)
        fail_msg("%s has no argument %d, %d", f->name, e->bytes, e->times);
}

static void letters_and_extents_have_a_meaning(void **state)
{
    size_t n;
    const struct libc_function *f = libc_functions(&n);
    struct libc_extent e;
    bool star;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        unsigned count = letters(&f[i], &star);

        for (const char *c = f[i].args; *c; c++)
            if (!strchr("-rwbfsvRWBSVkKyctgq*$%+0123456789", *c) &&
                !(c == f[i].args && strchr("?!", *c)))
                fail_msg("%s: %s", f[i].name, f[i].args);
        for (unsigned k = 0; k < count; k++)
            if (libc_extent(&f[i], k, &e))
                check_extent(&f[i], &e);
        if (libc_result_extent(&f[i], &e))
            check_extent(&f[i], &e);
        if (f[i].result[0] == 0 || f[i].result[strspn(f[i].result, "-0123456789skhH")])
            fail_msg("%s: result %s", f[i].name, f[i].result);
    }
}

/* What the runtime shows must be in the static pairs: none of these may do just anything, and no
 * argument of theirs goes untold. */
static void modelled_functions_are_described(void **state)
{
    size_t n, modelled = 0;
    const struct libc_function *f = libc_functions(&n);
    bool star;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        if (f[i].modelled < 0)
            continue;
        modelled++;
        if (f[i].pattern || f[i].does >= LIBC_ORDERS)
            fail_msg("%s has a model, but no description", f[i].name);
        if (letters(&f[i], &star) > (unsigned)f[i].modelled + f[i].variadic)
            fail_msg("%s: %s for %d arguments", f[i].name, f[i].args, f[i].modelled);
        if (f[i].variadic && !star && strncmp(f[i].name, "open", 4) != 0)
            fail_msg("%s: what of variable arguments?", f[i].name);
    }
    assert_true(modelled > 300);
}

static bool fits(const struct libc_function *f)
{
    switch ((enum libc_does)f->does) {
    case LIBC_COPY: /* from somewhere to somewhere */
        return libc_with(f, "r") >= 0 && (libc_with(f, "wb") >= 0 || f->result[0] == 'h');
    case LIBC_CREATE:
        return libc_with(f, "t") >= 0 && libc_with(f, "g") >= 0;
    case LIBC_ATEXIT:
    case LIBC_KEY:
    case LIBC_HANDLER:
        return libc_with(f, "t") >= 0;
    case LIBC_HEAP_AT:
        return strchr("wW", libc_touch(f, 0));
    case LIBC_END:
        return libc_touch(f, 0) == 'r' && libc_touch(f, 1) == 'w';
    case LIBC_SCAN:
        return libc_with(f, "wW") >= 0;
    case LIBC_UNKNOWN:
        return f->pattern;
    default:
        return libc_with(f, "t") < 0;
    }
}

static void what_they_do_fits_their_letters(void **state)
{
    size_t n;
    const struct libc_function *f = libc_functions(&n);

    (void)state;
    for (size_t i = 0; i < n; i++)
        if (!fits(&f[i]))
            fail_msg("%s: %s does not fit what it does", f[i].name, f[i].args);
}

static void touches(const char *name, unsigned arg, char how)
{
    const struct libc_function *f = libc_find(name);

    assert_non_null(f);
    if (libc_touch(f, arg) != how)
        fail_msg("%s touches argument %u: %c", name, arg, libc_touch(f, arg));
}

static void letters_are_read(void **state)
{
    struct libc_extent e;

    (void)state;
    touches("memcpy", 0, 'w');
    touches("memcpy", 1, 'r');
    touches("memcpy", 2, 0);
    touches("getenv", 0, 'r');
    touches("strtok", 0, 'b');
    touches("printf", 0, 'r');
    touches("printf", 7, 'r');
    touches("sscanf", 1, 'r');
    touches("sscanf", 9, 'w');
    touches("write", 1, 'r');
    touches("readv", 1, 'W');
    touches("epoll_wait", 1, 'w');
    touches("pthread_create", 2, 0);
    assert_int_equal(libc_hidden(libc_find("getenv")), 'r');
    assert_int_equal(libc_hidden(libc_find("setenv")), 'w');
    assert_int_equal(libc_hidden(libc_find("strcpy")), 0);
    assert_true(libc_extent(libc_find("fwrite"), 0, &e) && e.bytes == 1 && e.times == 2);
    assert_true(libc_extent(libc_find("wmemcpy"), 1, &e) && e.bytes == 2 && e.unit == 4);
    assert_true(libc_extent(libc_find("msgsnd"), 1, &e) && e.bytes == 2 && e.more == 8);
    assert_false(libc_extent(libc_find("strcpy"), 1, &e));
    assert_true(libc_is_text(libc_find("strcpy"), 1));
    assert_true(libc_result_extent(libc_find("calloc"), &e) && e.bytes == 0 && e.times == 1);
    assert_false(libc_result_extent(libc_find("getcwd"), &e));
}

static void names_lead_to_rows(void **state)
{
    (void)state;
    assert_null(libc_find("my_own_function"));
    assert_null(libc_find("pthread_pool_of_mine"));
    assert_null(libc_find("sem_of_mine"));
    assert_null(libc_find("forkl")); /* no type of numbers behind it */
    assert_string_equal(libc_find("sinf32x")->name, "sin");
    assert_string_equal(libc_find("modff")->name, "modf");
    assert_null(libc_find("_ZNSt3__111timed_mutex4lockEv")); /* an exception to _ZNSt* */
    assert_int_equal(libc_find("_ZNSt6locale7classicEv")->does, LIBC_ANYTHING);
    assert_int_equal(libc_find("_ZNSt6thread4joinEv")->does, LIBC_JOIN);
    assert_int_equal(libc_find("mq_timedsend")->does, LIBC_ORDERS);
    assert_false(libc_find("mq_timedsend")->interposed);
    assert_true(libc_find("pthread_mutex_lock")->interposed);
    assert_int_equal(libc_find("strlen")->modelled, 1);
    assert_true(libc_find("printf")->variadic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_once_and_sorted),
        cmocka_unit_test(a_name_is_found_as_it_stands),
        cmocka_unit_test(letters_and_extents_have_a_meaning),
        cmocka_unit_test(modelled_functions_are_described),
        cmocka_unit_test(what_they_do_fits_their_letters),
        cmocka_unit_test(letters_are_read),
        cmocka_unit_test(names_lead_to_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
