/* test_symbol_lines.c - line tables: the same answers as libdw's, which decodes them another way
 *
 * For the table of each unit: at each address of a row and one byte behind it.
 */
#include "symbol/line_table.h"
#include "base/alloc.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static size_t compared; /* addresses */

/* "/a/b/c.h" of what is written as folder and name. */
static bool names_agree(const char *whole, const char *where, const char *name)
{
    size_t n = strlen(whole), m = strlen(name), k = strlen(where);

    if (m > n || strcmp(whole + n - m, name))
        return false;
    return name[0] == '/' || !k || (n > m + k && !strncmp(whole + n - m - 1 - k, where, k));
}

static void compare_at(Dwarf_Die *unit, const struct lines *l, uint64_t address)
{
    Dwarf_Line *expected = dwarf_getsrc_die(unit, address);
    const char *where, *name;
    struct line_place got;
    int line, column;

    if (!expected) {
        assert_false(lines_find(l, address, &got));
        return;
    }
    assert_true(lines_find(l, address, &got));
    assert_int_equal(dwarf_lineno(expected, &line), 0);
    assert_int_equal(dwarf_linecol(expected, &column), 0);
    assert_int_equal(got.line, line);
    assert_int_equal(got.column, column);
    assert_true(lines_file(l, got.file, &where, &name));
    assert_true(names_agree(dwarf_linesrc(expected, NULL, NULL), where, name));
    compared++;
}

static uint64_t row_address(Dwarf_Lines *rows, size_t i)
{
    Dwarf_Addr address;

    assert_int_equal(dwarf_lineaddr(dwarf_onesrcline(rows, i), &address), 0);
    return address;
}

/* Where a sequence ends libdw may answer with its last row, which has no code. */
static bool is_end(Dwarf_Lines *rows, size_t i)
{
    uint64_t address = row_address(rows, i);
    bool ended = false;

    do
        dwarf_lineendsequence(dwarf_onesrcline(rows, i), &ended);
    while (!ended && i-- && row_address(rows, i) == address);
    return ended;
}

static void compare_unit(Dwarf_Die *unit, const struct line_sections *s)
{
    Dwarf_Attribute attr;
    Dwarf_Word offset;
    Dwarf_Lines *rows;
    size_t n;
    struct lines *l;

    if (!dwarf_attr(unit, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &offset) != 0 ||
        dwarf_getsrclines(unit, &rows, &n) != 0)
        return;
    l = lines_read(s, offset);
    assert_non_null(l);
    for (size_t i = 0; i < n; i++) {
        if (is_end(rows, i))
            continue;
        compare_at(unit, l, row_address(rows, i));
        compare_at(unit, l, row_address(rows, i) + 1);
    }
    lines_free(l);
}

static void compare_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf;
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, split;
    struct line_sections s;

    assert_true(fd >= 0);
    dwarf = dwarf_begin(fd, DWARF_C_READ);
    assert_non_null(dwarf);
    line_sections_find(&s, dwarf_getelf(dwarf));
    while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0)
        compare_unit(&die, &s);
    dwarf_end(dwarf);
    close(fd);
}

static char folder[] = "/tmp/heddle_lines_XXXXXX", library[sizeof(folder) + 8];

static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
    char command[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof(command), fmt, ap);
    va_end(ap);
    return system(command) == 0;
}

static FILE *create(const char *name)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    return f;
}

static int write_sources(void **state)
{
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(library, sizeof(library), "%s/a.so", folder);
    f = create("a.c");
    fputs("#include <stdlib.h>\n#include \"sub/b.h\"\n", f);
    for (int i = 0; i < 80; i++) /* more than one mark */
        fprintf(f, "int f%d(int n)\n{\n  n += b(n);\n  return n > %d ? abs(n) : f(n - 1);\n}\n", i,
                i);
    fclose(f);
    assert_true(run("mkdir %s/sub", folder));
    f = create("sub/b.h");
    fputs("int f(int);\nstatic inline int b(int n)\n{\n  return n * 3 + f(n);\n}\n", f);
    fclose(f);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    return run("rm -r %s", folder) ? 0 : -1;
}

static bool compile(const char *compiler, const char *flags)
{
    return run("cd %s && %s %s -shared -fPIC a.c -o a.so 2>/dev/null", folder, compiler, flags);
}

static void all_compilers_and_versions(void **state)
{
    static const char *const flags[] = { "-gdwarf-2",
                                         "-gdwarf-3",
                                         "-gdwarf-4",
                                         "-gdwarf-5",
                                         "-gdwarf-5 -gz",
                                         "-gdwarf-4 -gz=zlib-gnu",
                                         "-gdwarf-5 -ffunction-sections" };
    static const char *const compilers[] = { "cc -O2", "clang-19 -O2", "clang-19" };
    size_t built = 0;

    (void)state;
    for (size_t c = 0; c < sizeof(compilers) / sizeof(*compilers); c++) {
        for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
            if (!compile(compilers[c], flags[i])) /* not every compiler knows them all */
                continue;
            compared = 0;
            compare_file(library);
            assert_true(compared > 500);
            built++;
        }
    }
    assert_true(built >= 7); /* one compiler's */
}

static void ask_damaged(const struct line_sections *s)
{
    struct lines *l = lines_read(s, 0);
    const char *where, *name;
    struct line_place at;

    if (!l)
        return;
    for (uint64_t address = 0; address < 1 << 16; address += 1021)
        if (lines_find(l, address, &at) && lines_file(l, at.file, &where, &name))
            assert_true(strlen(where) + strlen(name) > 0);
    lines_free(l);
}

/* Whatever is wrong in a table, the reader ends and does not read beyond it (ASan looks). */
static void damaged_tables(void **state)
{
    enum { TRIES = 1000, DAMAGES = 3 };
    struct line_sections whole, s;
    uint32_t random = 1;
    size_t bytes;
    Dwarf *dwarf;
    int fd;

    (void)state;
    assert_true(compile("cc", "-gdwarf-5"));
    fd = open(library, O_RDONLY | O_CLOEXEC);
    dwarf = dwarf_begin(fd, DWARF_C_READ);
    assert_non_null(dwarf);
    line_sections_find(&whole, dwarf_getelf(dwarf));
    bytes = whole.line.bytes;
    assert_true(bytes > 1000);
    for (int i = 0; i < TRIES; i++) {
        size_t n = i % 4 ? bytes : random % bytes; /* some are cut off */
        uint8_t *copy = xmalloc(n + !n);

        memcpy(copy, whole.line.data, n);
        for (int k = 0; k < DAMAGES && n; k++) {
            random = random * 1664525 + 1013904223;
            copy[(random >> 8) % (k ? n : n < 100 ? n : 100)] = (uint8_t)(random >> 3);
        }
        s = whole;
        s.line.data = copy;
        s.line.bytes = n;
        ask_damaged(&s);
        free(copy);
    }
    dwarf_end(dwarf);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_compilers_and_versions),
        cmocka_unit_test(damaged_tables),
    };

    return cmocka_run_group_tests(tests, write_sources, remove_all);
}
