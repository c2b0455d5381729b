/* Statically possible pairs as a file. */
#include "static/pairs_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char good[] =
    "heddle-pairs 1\nvariant sound\nimage ab12 prog\nimage - lib.so\nclasses 2\n"
    "module 00000000000000010000000000000002\ns 3 1 0\ns 9 2 1\n"
    "module 00000000000000010000000000000003\ns 1 2 1\np 0 1\np 1 1\nend\n";

static int read_text(struct pairs *p, const char *text, struct error *err)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    int status = pairs_read_stream(p, in, "x", err);

    fclose(in);
    return status;
}

static bool count(void *arg, uint32_t i, uint32_t j)
{
    assert_true(i <= j);
    ++*(unsigned *)arg;
    return true;
}

static void a_file_is_read_and_asked(void **state)
{
    const uint64_t module[2] = { 1, 2 }, other[2] = { 1, 3 };
    struct error err;
    struct pairs p;
    unsigned n = 0;

    (void)state;
    assert_int_equal(read_text(&p, good, &err), 0);
    assert_int_equal(p.nsites, 3);
    assert_string_equal(p.images[0].build_id, "ab12");
    assert_string_equal(p.images[1].build_id, "");
    assert_int_equal(pairs_find(&p, module, 9), 1);
    assert_int_equal(pairs_find(&p, other, 1), 2);
    assert_int_equal(pairs_find(&p, module, 4), PAIRS_NONE);
    assert_int_equal(pairs_from(&p, module, 0), 0);
    assert_int_equal(pairs_from(&p, module, 4), 1);
    assert_int_equal(pairs_from(&p, module, 10), 2);
    assert_int_equal(pairs_from(&p, other, 2), 3);
    assert_false(pairs_has(&p, 0, 0));
    assert_true(pairs_has(&p, 1, 0));
    assert_true(pairs_has(&p, 2, 2));
    assert_int_equal(pairs_count(&p), 5); /* 0-1 0-2 1-1 1-2 2-2 */
    pairs_each(&p, count, &n);
    assert_int_equal(n, 5);
    pairs_release(&p);
}

static void what_is_written_is_what_was_read(void **state)
{
    struct error err;
    struct pairs p;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    (void)state;
    assert_int_equal(read_text(&p, good, &err), 0);
    pairs_write(&p, out);
    fclose(out);
    assert_string_equal(text, good);
    free(text);
    pairs_release(&p);
}

static void a_broken_file_is_refused(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        { "", "cannot read 'x': empty" },
        { "pairs\n", "cannot read 'x': line 1: not a file of pairs" },
        { "heddle-pairs 1\nimage - a\nclasses 1\n", "cannot read 'x': cut off behind line 3" },
        { "heddle-pairs 1\nclasses 1\ns 1 1 0\n",
          "cannot read 'x': line 3: a site before its module" },
        { "heddle-pairs 1\nclasses 1\nmodule 1\n",
          "cannot read 'x': line 3: expected a module's id of 32 hexadecimal digits" },
        { "heddle-pairs 1\nclasses 1\nmodule 00000000000000010000000000000002\ns 1 1 1\n",
          "cannot read 'x': line 4: no such class" },
        { "heddle-pairs 1\nclasses 1\nmodule 00000000000000010000000000000002\ns 1 1 0\ns 1 1 0\n",
          "cannot read 'x': line 5: sites are not in order" },
        { "heddle-pairs 1\nclasses 2\np 1 0\n",
          "cannot read 'x': line 3: no such pair of classes" },
        { "heddle-pairs 1\nclasses 2\np 0 1\np 0 1\n",
          "cannot read 'x': line 4: pairs are not in order" },
        { "heddle-pairs 1\nclasses 2\np 0 4294967296\n",
          "cannot read 'x': line 3: expected 'p CLASS CLASS'" },
        { "heddle-pairs 1\nclasses 2\np 0 18446744073709551617\n",
          "cannot read 'x': line 3: expected 'p CLASS CLASS'" },
        { "heddle-pairs 1\nclasses 2 3\n", "cannot read 'x': line 2: unknown line" },
        { "heddle-pairs 1\nend\nend\n", "cannot read 'x': line 3: something behind the end" },
    };
    struct error err;
    struct pairs p;

    (void)state;
    assert_int_equal(pairs_read(&p, "/proc/nonexistent/x", &err), -1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (!*cases[i].text) {
            FILE *in = fopen("/dev/null", "r");

            assert_int_equal(pairs_read_stream(&p, in, "x", &err), -1);
            fclose(in);
        } else {
            assert_int_equal(read_text(&p, cases[i].text, &err), -1);
        }
        assert_string_equal(err.text, cases[i].problem);
        assert_int_equal(p.nsites, 0);
    }
}

/* ---- the form that is mapped ---- */

static char path[] = "pairs-XXXXXX";

static void put_file(const char *data, size_t bytes)
{
    FILE *out = fopen(path, "w");

    assert_int_equal(fwrite(data, 1, bytes, out), bytes);
    assert_int_equal(fclose(out), 0);
}

/* Owned by the caller. */
static char *mapped_form(size_t *bytes)
{
    struct error err;
    struct pairs p;
    char *data = NULL;
    FILE *out = open_memstream(&data, bytes);

    assert_int_equal(read_text(&p, good, &err), 0);
    pairs_map_write(&p, out);
    fclose(out);
    pairs_release(&p);
    return data;
}

static void a_mapped_file_says_the_same(void **state)
{
    const uint64_t module[2] = { 1, 2 };
    struct error err;
    struct pairs p, q;
    size_t bytes, n;
    char *data = mapped_form(&bytes), *text = NULL;
    FILE *out = open_memstream(&text, &n);

    (void)state;
    put_file(data, bytes);
    assert_int_equal(pairs_map(&p, path, &err), 0);
    assert_int_equal(pairs_check(&p, path, &err), 0);
    assert_int_equal(p.total, 5);
    assert_int_equal(pairs_count(&p), 5);
    assert_int_equal(pairs_find(&p, module, 9), 1);
    assert_true(pairs_has(&p, 1, 0));
    assert_false(pairs_has(&p, 0, 0));
    assert_int_equal(read_text(&q, good, &err), 0);
    assert_true(pairs_hash(&p) == pairs_hash(&q));
    pairs_write(&p, out);
    fclose(out);
    assert_string_equal(text, good);
    pairs_release(&p);
    pairs_release(&q);
    assert_int_equal(pairs_read(&p, path, &err), 0); /* known by its first bytes */
    assert_int_equal(pairs_count(&p), 5);
    pairs_release(&p);
    free(text);
    free(data);
}

/* Whatever byte is wrong: refused, or an answer within bounds (ASan looks on). */
static void a_damaged_mapped_file_does_no_harm(void **state)
{
    size_t bytes, refused = 0;
    char *data = mapped_form(&bytes);
    struct error err;
    struct pairs p;

    (void)state;
    for (size_t i = 0; i < bytes; i++) {
        unsigned n = 0;

        data[i] ^= (char)0x81;
        put_file(data, bytes);
        data[i] ^= (char)0x81;
        if (pairs_read(&p, path, &err) < 0) {
            refused++;
            continue;
        }
        pairs_each(&p, count, &n);
        assert_true(n == p.total);
        pairs_release(&p);
    }
    assert_true(refused > bytes / 4);
    for (size_t i = 0; i < bytes; i++) {
        put_file(data, i);
        assert_int_equal(pairs_read(&p, path, &err), -1);
    }
    free(data);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_file_says_the_same),
        cmocka_unit_test(a_damaged_mapped_file_does_no_harm),
        cmocka_unit_test(a_file_is_read_and_asked),
        cmocka_unit_test(what_is_written_is_what_was_read),
        cmocka_unit_test(a_broken_file_is_refused),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
