/* test_assert.c - where an invariant does not hold, the process ends with a report */
#include "base/assert.h"
#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int evaluated;

static int counted(void)
{
    return ++evaluated;
}

/* Runs it in a child; its exit code, and what it wrote to standard error. */
static int in_child(void (*run)(void), char *said, size_t size)
{
    int out[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(out), 0);
    child = fork();
    if (!child) {
        dup2(out[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(out[1]);
    while ((got = read(out[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = 0;
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void fails(void)
{
    invariant(evaluated < 0);
}

/* Opening a trace makes it what a report names. */
static void fails_with_a_trace(void)
{
    char path[] = "/tmp/heddle-assert-XXXXXX";
    int fd = mkstemp(path);
    struct error err;

    if (fd < 0 || write(fd, "T0|w(x)|1\n", 10) != 10 || !trace_open(path, &err))
        _exit(1);
    unlink(path);
    invariant(evaluated < 0);
}

static void it_ends_the_process_and_says_where(void **state)
{
    char said[1024];

    (void)state;
    assert_int_equal(in_child(fails, said, sizeof(said)), 128);
    assert_non_null(strstr(said, "internal error in "));
    assert_non_null(strstr(said, "test_assert.c:"));
    assert_non_null(strstr(said, "(fails): 'evaluated < 0' does not hold\n"));
    assert_non_null(strstr(said, "please report this, with heddle "));
}

static void the_report_names_the_trace(void **state)
{
    char said[1024];

    (void)state;
    assert_int_equal(in_child(fails_with_a_trace, said, sizeof(said)), 128);
    assert_non_null(strstr(said, "please report this, with the trace '/tmp/heddle-assert-"));
}

static void what_holds_is_evaluated_once(void **state)
{
    (void)state;
    evaluated = 0;
    invariant(counted() == 1);
    assert_int_equal(evaluated, INVARIANTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_the_process_and_says_where),
        cmocka_unit_test(the_report_names_the_trace),
        cmocka_unit_test(what_holds_is_evaluated_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
