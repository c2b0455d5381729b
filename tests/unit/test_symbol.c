/* test_symbol.c - functions, lines and variables of libraries that the test compiles and loads
 *
 * Each library calls back from an inlined function, so that the return address
 * is code whose stack is known. Compilers that are not there are skipped.
 */
#include "base/alloc.h"
#include "symbol/symbol.h"
#include "symbol/tidy.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char c_source[] = "struct node { int key; struct node *next; short pair[2]; };\n"
                               "struct node table[10];\n"
                               "static struct { int x, y; struct node n; } q;\n"
                               "int grid[3][5];\n"
                               "static inline __attribute__((always_inline))\n"
                               "int inner(int (*cb)(void)) {\n"
                               "    return cb() + 1; /* line 7 */\n"
                               "}\n"
                               "int outer(int (*cb)(void)) {\n"
                               "    static int calls;\n"
                               "    calls++;\n"
                               "    q.x = inner(cb); /* line 12 */\n"
                               "    return q.x;\n"
                               "}\n"
                               "void *address_of(int what) {\n"
                               "    return what ? (void *)&q.n.pair[1] : (void *)&q;\n"
                               "}\n";

static const char cc_source[] = "namespace ns {\n"
                                "struct base { long b; };\n"
                                "struct derived : base { int d; union { int u; float f; }; };\n"
                                "derived value;\n"
                                "template <class T> struct box {\n"
                                "    T call(T (*cb)()) { return cb() + 1; } // line 6\n"
                                "};\n"
                                "}\n"
                                "extern \"C\" int outer(int (*cb)()) {\n"
                                "    static int calls;\n"
                                "    calls++;\n"
                                "    return ns::box<int>().call(cb) * 3; // line 12\n"
                                "}\n"
                                "extern \"C\" void *address_of(int) { return &ns::value; }\n";

struct library {
    char folder[64];
    char path[128];
    void *handle;
    uint64_t base, low, high;
    struct symbolizer *s;
};

static void *seen_pc;

static int callback(void)
{
    seen_pc = __builtin_return_address(0);
    return 1;
}

static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
    char command[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof(command), fmt, ap);
    va_end(ap);
    return system(command) == 0;
}

static int find_bounds(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct library *l = arg;

    (void)bytes;
    if (strcmp(info->dlpi_name, l->path) != 0)
        return 0;
    l->base = info->dlpi_addr;
    l->low = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t start = l->base + info->dlpi_phdr[i].p_vaddr;
        uint64_t end = start + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        l->low = start < l->low ? start : l->low;
        l->high = end > l->high ? end : l->high;
    }
    return 1;
}

/* Compile, change with `after` (a shell command in the folder, may be ""), load. */
static bool library_build(struct library *l, const char *compile, bool cc, const char *after)
{
    FILE *f;
    char name[128];

    *l = (struct library){ .folder = "/tmp/heddle_symbol_XXXXXX" };
    assert_non_null(mkdtemp(l->folder));
    snprintf(name, sizeof(name), "%s/lib.%s", l->folder, cc ? "cc" : "c");
    snprintf(l->path, sizeof(l->path), "%s/lib.so", l->folder);
    f = fopen(name, "w");
    assert_non_null(f);
    fputs(cc ? cc_source : c_source, f);
    assert_int_equal(fclose(f), 0);
    if (!run("cd %s && %s -shared -fPIC %s -o lib.so 2>/dev/null", l->folder, compile,
             cc ? "lib.cc" : "lib.c") ||
        !run("cd %s && %s", l->folder, after[0] ? after : "true")) {
        run("rm -r %s", l->folder);
        return false;
    }
    l->handle = dlopen(l->path, RTLD_NOW);
    assert_non_null(l->handle);
    assert_int_equal(dl_iterate_phdr(find_bounds, l), 1);
    l->s = symbolizer_new();
    assert_int_equal(symbolizer_add_image(l->s, l->path, l->base, l->low, l->high, NULL, 0), 0);
    return true;
}

static void library_close(struct library *l)
{
    symbolizer_free(l->s);
    dlclose(l->handle);
    run("rm -r %s", l->folder);
}

static int call_outer(struct library *l, struct sym_frame *frames, int max)
{
    int (*outer)(int (*)(void));

    *(void **)&outer = dlsym(l->handle, "outer");
    seen_pc = NULL;
    outer(callback);
    return symbolizer_frames(l->s, (uintptr_t)seen_pc - 1, frames, max);
}

static uint64_t address_of(struct library *l, int what)
{
    void *(*f)(int);

    *(void **)&f = dlsym(l->handle, "address_of");
    return (uintptr_t)f(what);
}

static void check_frame(const struct library *l, const struct sym_frame *f, const char *name,
                        const char *file, uint32_t line, bool inlined)
{
    char path[128];

    assert_string_equal(f->name, name);
    snprintf(path, sizeof(path), "%s/%s", l->folder, file);
    assert_non_null(f->file);
    assert_string_equal(f->file, path);
    assert_int_equal(f->line, line);
    assert_int_equal(f->inlined, inlined);
}

static void check_c(const char *compile, const char *after)
{
    struct library l;
    struct sym_frame f[8];
    struct sym_data d;
    uint64_t table;

    if (!library_build(&l, compile, false, after))
        return;
    assert_int_equal(call_outer(&l, f, 8), 2);
    check_frame(&l, &f[0], "inner", "lib.c", 7, true);
    check_frame(&l, &f[1], "outer", "lib.c", 12, false);
    assert_int_equal(call_outer(&l, f, 1), 1); /* from the cache, cut */
    table = (uintptr_t)dlsym(l.handle, "table");
    assert_int_equal(symbolizer_data(l.s, table + 3 * 24 + 8, 8, &d), 1);
    assert_string_equal(d.name, "table");
    assert_string_equal(d.path, "table[3].next");
    assert_int_equal(d.offset, 80);
    assert_int_equal(d.size, 240);
    assert_int_equal(symbolizer_data(l.s, table + 24, 24, &d), 1);
    assert_string_equal(d.path, "table[1]"); /* the whole element */
    assert_int_equal(symbolizer_data(l.s, table + 1, 1, &d), 1);
    assert_string_equal(d.path, "table[0].key");
    assert_int_equal(d.path_offset, 1);
    assert_int_equal(symbolizer_data(l.s, (uintptr_t)dlsym(l.handle, "grid") + 28, 4, &d), 1);
    assert_string_equal(d.path, "grid[1][2]");
    assert_int_equal(symbolizer_data(l.s, address_of(&l, 1), 2, &d), 1);
    assert_string_equal(d.path, "q.n.pair[1]");
    library_close(&l);
}

static void c_code_of_gcc_and_clang_has_its_frames_and_variables(void **state)
{
    (void)state;
    check_c("cc -O2 -g", "");
    check_c("cc -O2 -gdwarf-4", "");
    check_c("gcc -O2 -g -flto", "");
    check_c("clang-19 -O2 -g", "");
    check_c("clang-19 -O0 -g", ""); /* always_inline inlines there too */
    check_c("clang-19 -O2 -gdwarf-4", "");
    check_c("clang-19 -O2 -g -gz", "");
    check_c("clang-19 -O2 -g -gsplit-dwarf", "");
}

static void cpp_code_has_readable_names(void **state)
{
    static const char *const compilers[] = { "g++ -O2 -g", "clang++-19 -O2 -g", "clang++-19 -g" };
    struct library l;
    struct sym_frame f[8];
    struct sym_data d;
    int n;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        if (!library_build(&l, compilers[i], true, ""))
            continue;
        n = call_outer(&l, f, 8);
        assert_int_equal(n, i < 2 ? 2 : 1);
        check_frame(&l, &f[0], "ns::box<int>::call(int (*)())", "lib.cc", 6, n == 2);
        assert_string_equal(f[0].function, "_ZN2ns3boxIiE4callEPFivE");
        if (n == 2)
            check_frame(&l, &f[1], "outer", "lib.cc", 12, false);
        assert_int_equal(symbolizer_data(l.s, address_of(&l, 0) + 8, 4, &d), 1);
        assert_string_equal(d.path, "ns::value.d");
        assert_int_equal(symbolizer_data(l.s, address_of(&l, 0), 8, &d), 1);
        assert_string_equal(d.path, "ns::value.b");
        assert_int_equal(symbolizer_data(l.s, address_of(&l, 0) + 12, 4, &d), 1);
        assert_string_equal(d.path, "ns::value.u");
        library_close(&l);
    }
}

static void separate_debug_files_are_found(void **state)
{
    char folder[] = "/tmp/heddle_symbol_debug_XXXXXX", *after;

    (void)state;
    check_c("cc -O2 -g -Wl,--build-id=none",
            "objcopy --only-keep-debug lib.so lib.debug && strip lib.so && "
            "objcopy --add-gnu-debuglink=lib.debug lib.so");
    check_c("cc -O2 -g -Wl,--build-id=none",
            "mkdir .debug && objcopy --only-keep-debug lib.so .debug/lib.debug && strip lib.so && "
            "cd .debug && objcopy --add-gnu-debuglink=lib.debug ../lib.so");
    assert_non_null(mkdtemp(folder));
    setenv("HEDDLE_DEBUG_DIRECTORY", folder, 1);
    after = xasprintf("mkdir -p %s/.build-id/ab && objcopy --only-keep-debug lib.so "
                      "%s/.build-id/ab/cdef0123456789.debug && strip lib.so",
                      folder, folder);
    check_c("cc -O2 -g -Wl,--build-id=0xabcdef0123456789", after);
    unsetenv("HEDDLE_DEBUG_DIRECTORY");
    run("rm -r %s", folder);
    free(after);
}

static void a_debug_file_of_another_build_is_passed_over(void **state)
{
    struct library l;
    struct sym_frame f[8];

    (void)state;
    if (!library_build(&l, "cc -O2 -g -Wl,--build-id=none", false,
                       "objcopy --only-keep-debug lib.so lib.debug && strip lib.so && "
                       "objcopy --add-gnu-debuglink=lib.debug lib.so && "
                       "cc -O0 -g -shared -fPIC lib.c -o lib.debug"))
        return;
    assert_int_equal(call_outer(&l, f, 8), 1);
    assert_string_equal(f[0].name, "outer");
    assert_null(f[0].file);
    library_close(&l);
}

static void stripped_libraries_answer_from_their_symbols(void **state)
{
    struct library l;
    struct sym_frame f[8];
    struct sym_data d;

    (void)state;
    if (!library_build(&l, "cc -O2 -g", false, "strip lib.so"))
        return;
    assert_int_equal(call_outer(&l, f, 8), 1);
    assert_string_equal(f[0].function, "outer");
    assert_null(f[0].file);
    assert_int_equal(symbolizer_data(l.s, (uintptr_t)dlsym(l.handle, "table") + 80, 8, &d), 1);
    assert_string_equal(d.path, "table");
    assert_int_equal(d.offset, 80);
    assert_int_equal(symbolizer_data(l.s, address_of(&l, 0), 8, &d), 0); /* static: no symbol */
    library_close(&l);
}

static void missing_and_wrong_files_say_so(void **state)
{
    struct symbolizer *s = symbolizer_new();
    struct sym_frame f[2];
    struct sym_data d;
    uint8_t id[20] = { 1 };
    uint64_t offset;

    (void)state;
    assert_int_equal(
        symbolizer_add_image(s, "/proc/nonexistent/x", 0x1000, 0x1000, 0x2000, NULL, 0), 0);
    assert_int_equal(symbolizer_add_image(s, "/proc/self/exe", 0x3000, 0x3000, 0x4000, id, 20), 0);
    assert_int_equal(symbolizer_add_image(s, "/dev/null", 0x5000, 0x5000, 0x6000, NULL, 0), 0);
    assert_int_equal(symbolizer_frames(s, 0x1234, f, 2), 0);
    assert_string_equal(symbolizer_problem(s, 0x1234),
                        "cannot open '/proc/nonexistent/x': No such file or directory");
    assert_int_equal(symbolizer_frames(s, 0x3234, f, 2), 0);
    assert_string_equal(symbolizer_problem(s, 0x3234),
                        "'/proc/self/exe' has another build id than the recorded one");
    assert_int_equal(symbolizer_data(s, 0x5000, 1, &d), 0);
    assert_string_equal(symbolizer_problem(s, 0x5000), "cannot read '/dev/null': not an ELF file");
    assert_null(symbolizer_problem(s, 0x9000));
    assert_string_equal(symbolizer_image(s, 0x1fff, &offset), "/proc/nonexistent/x");
    assert_int_equal(offset, 0xfff);
    assert_null(symbolizer_image(s, 0x2000, NULL));
    symbolizer_free(s);
}

static void images_come_and_go(void **state)
{
    struct symbolizer *s = symbolizer_new();

    (void)state;
    assert_int_equal(symbolizer_add_image(s, "a", 0, 0x2000, 0x3000, NULL, 0), 0);
    assert_int_equal(symbolizer_add_image(s, "b", 0, 0x1000, 0x2000, NULL, 0), 0);
    assert_int_equal(symbolizer_add_image(s, "c", 0, 0x1800, 0x1900, NULL, 0), -1);
    assert_int_equal(symbolizer_add_image(s, "c", 0, 0x900, 0x1001, NULL, 0), -1);
    assert_int_equal(symbolizer_add_image(s, "c", 0, 0x5000, 0x5000, NULL, 0), -1);
    assert_int_equal(symbolizer_overlap(s, 0x900, 0x1001), 0x1000);
    assert_int_equal(symbolizer_remove_image(s, 0x1001), -1);
    assert_int_equal(symbolizer_remove_image(s, 0x1000), 0);
    assert_null(symbolizer_image(s, 0x1000, NULL));
    assert_int_equal(symbolizer_add_image(s, "c", 0, 0x1800, 0x1900, NULL, 0), 0);
    assert_string_equal(symbolizer_image(s, 0x18ff, NULL), "c");
    assert_string_equal(symbolizer_image(s, 0x2000, NULL), "a");
    symbolizer_free(s);
}

static void names_are_demangled(void **state)
{
    struct buf b = { 0 };

    (void)state;
    assert_true(sym_demangle("_ZN1q4pushEi", &b));
    assert_string_equal(b.data, "q::push(int)");
    b.len = 0;
    assert_false(sym_demangle("main", &b));
    assert_string_equal(b.data, "main");
    b.len = 0;
    assert_false(sym_demangle("_Zbroken", &b));
    assert_string_equal(b.data, "_Zbroken");
    buf_release(&b);
}

static void check_tidy(const char *folder, const char *path, const char *expected)
{
    struct buf b = { 0 };

    tidy_path(&b, folder, path);
    assert_string_equal(b.data, expected);
    assert_int_equal(tidy_is(path), strcmp(path, expected) == 0 && path[0] == '/');
    buf_release(&b);
}

static void file_names_get_one_spelling(void **state)
{
    (void)state;
    check_tidy("/src", "a.c", "/src/a.c");
    check_tidy("/src", "./a.c", "/src/a.c");
    check_tidy("/src/x/", "../a.c", "/src/a.c");
    check_tidy("/src", "/usr/lib/gcc/12/../../../include/v", "/usr/include/v");
    check_tidy("/src", "/a/b.c", "/a/b.c");
    check_tidy("/src", "/a//b.c", "/a/b.c");
    check_tidy(NULL, "./a/./b.c", "a/b.c");
    check_tidy(NULL, "../../b.c", "../../b.c");
    check_tidy("/", "../b.c", "/../b.c"); /* no sense in it, but no harm either */
    check_tidy("build", "../b.c", "b.c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_code_of_gcc_and_clang_has_its_frames_and_variables),
        cmocka_unit_test(cpp_code_has_readable_names),
        cmocka_unit_test(separate_debug_files_are_found),
        cmocka_unit_test(a_debug_file_of_another_build_is_passed_over),
        cmocka_unit_test(stripped_libraries_answer_from_their_symbols),
        cmocka_unit_test(missing_and_wrong_files_say_so),
        cmocka_unit_test(images_come_and_go),
        cmocka_unit_test(names_are_demangled),
        cmocka_unit_test(file_names_get_one_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
