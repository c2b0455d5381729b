/* test_symbol_report.c - findings of a recorded program: names, stacks, source lines
 *
 * The recorded program is this test: its own variables are what races are
 * about, so that names come from its own debug information.
 */
#include "report/findings.h"
#include "report/json.h"
#include "report/source_lines.h"
#include "report/text.h"
#include "trace/hdl/hdl.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct queue {
    pthread_mutex_t lock;
    int head, tail;
};
struct queue queues[4];
static int counter;

enum { T0, T1 };

/* A trace being made, and findings on it. */
struct program {
    char path[64], source[64];
    struct tables tables;
    struct event events[64];
    size_t count;
    struct trace *trace;
    struct findings f;
};

static uint32_t function(struct program *p, const char *name)
{
    return intern_put(&p->tables.functions, name, strlen(name));
}

static uint32_t add_site(struct program *p, const char *location, const char *in, uint32_t parent)
{
    uint32_t s = intern_append(&p->tables.sites, location, strlen(location));

    tables_set_site_function(&p->tables, s, function(p, in));
    if (parent != SITE_NONE)
        tables_set_site_parent(&p->tables, s, parent);
    return s;
}

static size_t add(struct program *p, uint32_t thread, enum op op, const void *target, uint64_t n,
                  uint32_t site)
{
    bool is_access = op == OP_READ || op == OP_WRITE;

    p->events[p->count] = (struct event){ .thread = thread,
                                          .op = op,
                                          .target = (uintptr_t)target,
                                          .size = is_access ? (uint32_t)n : 0,
                                          .value = op == OP_ALLOC ? n : 0,
                                          .site = site };
    return p->count++;
}

static int add_images(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct program *p = arg;
    char path[4096] = "";
    struct image *m = tables_add_image(&p->tables);

    (void)bytes;
    assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    *m = (struct image){ .path = strdup(path), .base = info->dlpi_addr, .low = UINT64_MAX };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t start = m->base + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        m->low = start < m->low ? start : m->low;
        m->high = start + info->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the program itself comes first */
}

static void program_start(struct program *p)
{
    *p = (struct program){ .path = "/tmp/heddle_report_XXXXXX" };
    close(mkstemp(p->path));
    intern_put(&p->tables.threads, "T0", 2);
    intern_put(&p->tables.threads, "T1", 2);
    p->tables.process.known = true;
    process_add_thread(&p->tables.process, T1, 77, 0, "worker", 6);
    dl_iterate_phdr(add_images, p);
}

/* Write the trace, read it, and find one race in it. */
static void program_finish(struct program *p, size_t first, size_t second)
{
    struct hdl_options options = { .order = TRACE_EXACT };
    struct batch b = { .events = p->events, .count = p->count };
    struct race_table races;
    struct error err;
    struct hdl_writer *w = hdl_create(p->path, &p->tables, &options, &err);
    size_t e;

    assert_non_null(w);
    assert_int_equal(hdl_write(w, &b, &err), 0);
    assert_int_equal(hdl_finish(w, &err), 0);
    p->trace = trace_open(p->path, &err);
    assert_non_null(p->trace);
    while (trace_next(p->trace, &b, &err) > 0)
        ;
    findings_set_trace(&p->f, "t.hdl", p->trace);
    e = findings_add_engine(&p->f, "hb", 0.5, true);
    race_table_init(&races);
    race_table_add(&races, (struct access){ first, p->events[first].site },
                   (struct access){ second, p->events[second].site }, STRENGTH_GUARANTEED);
    findings_add_races(&p->f, e, &races, trace_tables(p->trace));
    race_table_release(&races);
    assert_int_equal(findings_finish(&p->f, p->trace, &err), 0);
    assert_int_equal(p->f.count, 1);
}

static void program_close(struct program *p)
{
    findings_release(&p->f);
    trace_close(p->trace);
    tables_release(&p->tables);
    unlink(p->path);
}

static void check_frame(const struct stack *s, size_t i, const char *function, const char *location,
                        bool inlined)
{
    assert_true(i < s->count);
    assert_string_equal(s->frames[i].function, function);
    if (location)
        assert_string_equal(s->frames[i].location, location);
    else
        assert_null(s->frames[i].location);
    assert_int_equal(s->frames[i].inlined, inlined);
}

/* main forks T1 and writes under a lock; T1 writes from a function inlined twice. */
static void make_race(struct program *p, const void *address, const void *lock)
{
    uint32_t start = add_site(p, "libc.so.6+0x10", "start", SITE_NONE);
    uint32_t fork = add_site(p, "/p/a.c:10:3", "main", SITE_NONE);
    uint32_t outer = add_site(p, "/p/a.c:30:3", "worker", SITE_NONE);
    uint32_t middle = add_site(p, "/usr/include/c++/12/v.h:5:1", "_ZN1v4pushEi", outer);
    uint32_t inner = add_site(p, "/usr/include/c++/12/v.h:9:1", "_ZN1v3setEi", middle);
    uint32_t take = add_site(p, "/p/a.c:11:3", "main", SITE_NONE);
    uint32_t write = add_site(p, "/p/a.c:12:3", "main", SITE_NONE);
    size_t first, second;

    add(p, T0, OP_ENTER, (void *)(uintptr_t)function(p, "main"), 0, start);
    add(p, T0, OP_FORK, (void *)T1, 0, fork);
    add(p, T0, OP_ACQUIRE, lock, 0, take);
    first = add(p, T0, OP_WRITE, address, 4, write);
    add(p, T0, OP_RELEASE, lock, 0, take);
    add(p, T1, OP_BEGIN, NULL, 0, SITE_NONE);
    add(p, T1, OP_ENTER, (void *)(uintptr_t)function(p, "worker"), 0, start);
    second = add(p, T1, OP_WRITE, address, 4, inner);
    program_finish(p, first, second);
}

static void stacks_have_inlined_frames_and_readable_names(void **state)
{
    struct program p;
    const struct side *s;

    (void)state;
    program_start(&p);
    make_race(&p, &queues[2].head, &queues[2].lock);
    s = p.f.races[0].sides;
    assert_int_equal(s[0].stack.count, 1);
    check_frame(&s[0].stack, 0, "main", "/p/a.c:12:3", false);
    assert_null(s[0].symbol);
    assert_int_equal(s[1].stack.count, 3);
    check_frame(&s[1].stack, 0, "v::set(int)", "/usr/include/c++/12/v.h:9:1", true);
    check_frame(&s[1].stack, 1, "v::push(int)", "/usr/include/c++/12/v.h:5:1", true);
    check_frame(&s[1].stack, 2, "worker", "/p/a.c:30:3", false);
    assert_string_equal(s[1].function, "v::set(int)");
    assert_string_equal(s[1].symbol, "_ZN1v3setEi");
    assert_string_equal(s[1].thread_name, "worker");
    assert_null(s[0].thread_name);
    assert_int_equal(s[1].created_stack.count, 1);
    check_frame(&s[1].created_stack, 0, "main", "/p/a.c:10:3", false);
    program_close(&p);
}

static void globals_and_locks_have_their_names(void **state)
{
    struct program p;
    const struct finding *r;

    (void)state;
    program_start(&p);
    make_race(&p, &queues[2].head, &queues[2].lock);
    r = &p.f.races[0];
    assert_string_equal(r->variable, "queues[2].head");
    assert_null(r->variable_key); /* the code reaches it by its address: any object would do */
    assert_int_equal(r->address, (uintptr_t)&queues[2].head);
    assert_int_equal(r->bytes, 4);
    assert_int_equal(r->sides[0].nlocks, 1);
    assert_string_equal(r->sides[0].locks[0].name, "queues[2].lock");
    assert_int_equal(r->sides[0].locks[0].stack.count, 1);
    check_frame(&r->sides[0].locks[0].stack, 0, "main", "/p/a.c:11:3", false);
    program_close(&p);
    program_start(&p);
    make_race(&p, &counter, (void *)0x7000);
    assert_string_equal(p.f.races[0].variable, "counter");
    assert_string_equal(p.f.races[0].sides[0].locks[0].name, "lock 0x7000");
    program_close(&p);
}

static void ids_depend_on_code_not_on_objects(void **state)
{
    struct program a, b, c;

    (void)state;
    program_start(&a);
    make_race(&a, &queues[2].head, &queues[2].lock);
    program_start(&b);
    make_race(&b, &queues[3].head, &queues[3].lock);
    program_start(&c);
    make_race(&c, &counter, &queues[3].lock);
    assert_string_equal(a.f.races[0].id, b.f.races[0].id);
    assert_string_equal(a.f.races[0].id, c.f.races[0].id);
    program_close(&a);
    program_close(&b);
    program_close(&c);
}

/* An address that is no global's: what the compiler says, else the block, else the stack. */
static void name_of(struct program *p, const char *compiler, enum op before, char *out, size_t n)
{
    uint32_t m = add_site(p, "/p/m.c:3:9", "xmalloc", SITE_NONE);
    uint32_t call = add_site(p, "/p/a.c:8:1", "main", SITE_NONE);
    uint32_t one = add_site(p, "/p/a.c:12:3", "main", SITE_NONE);
    uint32_t two = add_site(p, "/p/a.c:22:3", "worker", SITE_NONE);
    size_t first, second;

    if (compiler)
        tables_set_site_variable(&p->tables, two, compiler, strlen(compiler));
    add(p, T0, OP_ENTER, (void *)(uintptr_t)function(p, "main"), 0, SITE_NONE);
    if (before == OP_BEGIN) {
        add(p, T0, OP_FORK, (void *)T1, 0, one);
        add(p, T1, OP_BEGIN, NULL, 0, SITE_NONE);
        add(p, T1, OP_ALLOC, (void *)0x10000, 4096, SITE_NONE);
    } else if (before == OP_ALLOC) {
        add(p, T0, OP_ENTER, (void *)(uintptr_t)function(p, "xmalloc"), 0, call);
        add(p, T0, OP_ALLOC, (void *)0x10000, 64, m);
        add(p, T0, OP_EXIT, (void *)(uintptr_t)function(p, "xmalloc"), 0, call);
    }
    first = add(p, T0, OP_WRITE, (void *)0x10008, 8, one);
    second = add(p, T1, OP_READ, (void *)0x1000c, 4, two);
    program_finish(p, first, second);
    snprintf(out, n, "%s", p->f.races[0].variable);
}

static void what_has_no_name_is_described(void **state)
{
    static const struct {
        const char *compiler;
        enum op before;
        const char *expected;
    } cases[] = {
        { "struct q::head", OP_ALLOC, "struct q::head" },
        { NULL, OP_ALLOC, "heap block of 64 bytes allocated at m.c:3:9, offset 12" },
        { NULL, OP_BEGIN, "stack or thread-local memory of T1" },
        { NULL, OP_READ, "0x1000c:4" },
    };
    struct program p;
    char name[256];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        program_start(&p);
        name_of(&p, cases[i].compiler, cases[i].before, name, sizeof(name));
        assert_string_equal(name, cases[i].expected);
        if (cases[i].before == OP_ALLOC) {
            assert_int_equal(p.f.races[0].allocation->stack.count, 2);
            check_frame(&p.f.races[0].allocation->stack, 0, "xmalloc", "/p/m.c:3:9", false);
            check_frame(&p.f.races[0].allocation->stack, 1, "main", "/p/a.c:8:1", false);
        }
        program_close(&p);
    }
}

static __thread struct {
    int pad, slots[3];
} storage;

/* What the recorder tells of this program: where its thread-local variables are. */
static int add_tls(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct program *p = arg;

    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            process_add_tls(&p->tables.process, 0,
                            (uintptr_t)pthread_self() - (uintptr_t)info->dlpi_tls_data,
                            info->dlpi_phdr[i].p_memsz);
    return 1;
}

/* T1 has this thread's pointer; its block ends there, as the C library has it. */
static void make_local_race(struct program *p, const char *address, bool told)
{
    uint32_t one = add_site(p, "/p/a.c:12:3", "main", SITE_NONE);
    uint32_t two = add_site(p, "/p/a.c:22:3", "worker", SITE_NONE);
    char *end = (char *)pthread_self();
    size_t first, second;

    p->tables.process.threads[0].pointer = told ? (uintptr_t)end : 0;
    dl_iterate_phdr(add_tls, p);
    add(p, T0, OP_FORK, (void *)T1, 0, one);
    add(p, T1, OP_BEGIN, NULL, 0, SITE_NONE);
    add(p, T1, OP_ALLOC, end - 65536, 65536 + 2304, SITE_NONE);
    first = add(p, T1, OP_WRITE, address, 4, two);
    second = add(p, T0, OP_WRITE, address, 4, one);
    program_finish(p, first, second);
}

static void thread_locals_are_told_from_stacks(void **state)
{
    const char *end = (char *)pthread_self(), *slot = (const char *)&storage.slots[1];
    struct program p;

    (void)state;
    storage.pad++;
    program_start(&p);
    make_local_race(&p, slot, true);
    assert_string_equal(p.f.races[0].variable, "storage.slots[1]");
    assert_string_equal(p.f.races[0].thread_local_of, "T1");
    assert_null(p.f.races[0].allocation);
    program_close(&p);
    program_start(&p);
    make_local_race(&p, end - 65536 + 64, true);
    assert_string_equal(p.f.races[0].variable, "stack of T1");
    assert_null(p.f.races[0].thread_local_of);
    assert_true(p.f.races[0].allocation->is_stack && !p.f.races[0].allocation->maybe_local);
    program_close(&p);
    program_start(&p); /* threads beyond those that are told */
    make_local_race(&p, slot, false);
    assert_string_equal(p.f.races[0].variable, "stack or thread-local memory of T1");
    assert_true(p.f.races[0].allocation->maybe_local);
    program_close(&p);
}

static char *read_back(FILE *f)
{
    char *text = calloc(1, 65536);

    rewind(f);
    assert_true(fread(text, 1, 65535, f) > 0);
    fclose(f);
    return text;
}

static void check_json(const struct program *p)
{
    struct findings again = { 0 };
    struct error err;
    FILE *f = tmpfile(), *g = tmpfile();
    char *one, *two;

    json_write(&p->f, f);
    rewind(f);
    assert_int_equal(json_read(&again, f, &err), 0);
    json_write(&again, g);
    one = read_back(f);
    two = read_back(g);
    assert_string_equal(one, two);
    free(one);
    free(two);
    findings_release(&again);
}

static void json_keeps_everything(void **state)
{
    struct program p;

    (void)state;
    program_start(&p);
    make_race(&p, &queues[2].head, &queues[2].lock);
    check_json(&p);
    program_close(&p);
    for (int told = 0; told < 2; told++) {
        program_start(&p);
        make_local_race(&p, (const char *)&storage, told);
        check_json(&p);
        program_close(&p);
    }
}

static void source_lines_are_found(void **state)
{
    char path[] = "/tmp/heddle_source_XXXXXX", location[64];
    struct source_cache c = { 0 };
    struct findings f = { 0 };
    const struct excerpt *x;
    FILE *file = fdopen(mkstemp(path), "w");

    (void)state;
    fputs("one\n\ttwo\n\033[1mthree\nfour", file);
    fclose(file);
    snprintf(location, sizeof(location), "%s:2:5", path);
    x = source_excerpt(&c, &f, location);
    assert_non_null(x);
    assert_int_equal(x->first, 1);
    assert_int_equal(x->count, 3);
    assert_int_equal(x->marked, 1);
    assert_string_equal(x->lines[1], "        two");
    assert_string_equal(x->lines[2], "\\x1b[1mthree"); /* safe on a terminal */
    snprintf(location, sizeof(location), "%s:1", path);
    x = source_excerpt(&c, &f, location);
    assert_int_equal(x->count, 2);
    assert_int_equal(x->marked, 0);
    snprintf(location, sizeof(location), "%s:4", path);
    x = source_excerpt(&c, &f, location);
    assert_int_equal(x->first, 3);
    assert_int_equal(x->count, 2);
    assert_string_equal(x->lines[1], "four");
    snprintf(location, sizeof(location), "%s:5", path);
    assert_null(source_excerpt(&c, &f, location));
    assert_null(source_excerpt(&c, &f, "/proc/nonexistent/a.c:3"));
    assert_null(source_excerpt(&c, &f, "/dev/zero:3"));
    assert_null(source_excerpt(&c, &f, "14"));
    source_cache_release(&c);
    findings_release(&f);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_have_inlined_frames_and_readable_names),
        cmocka_unit_test(globals_and_locks_have_their_names),
        cmocka_unit_test(ids_depend_on_code_not_on_objects),
        cmocka_unit_test(what_has_no_name_is_described),
        cmocka_unit_test(thread_locals_are_told_from_stacks),
        cmocka_unit_test(json_keeps_everything),
        cmocka_unit_test(source_lines_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
