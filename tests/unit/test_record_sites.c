/* test_record_sites.c - the writer: sites of an instrumented file, stacks, calls of untraced code
 *
 * The file is made here: an ELF file with nothing but a site table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring_tools.h"

#include "base/alloc.h"
#include "abi/rt_sites.h"
#include "abi/rt_stretch.h"
#include "record/recorder.h"
#include "trace/text/event_text.h"
#include "trace/trace.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static char directory[] = "/tmp/heddle-sites-XXXXXX";
static char elf_path[64];

/* ---- the file ---- */

/* 1 a.c, 5 main, 10 counter, 18 helper, 25 untraced, 34 /src */
static const char strings[] = "\0a.c\0main\0counter\0helper\0untraced\0/src";

enum {
    S_MAIN,
    S_COUNTER,
    S_INLINED,
    S_UNTRACED,
    S_TRACED,
    S_POINTER,
    S_HELPER,
    S_LOAD, /* a stretch: *p->q = 1, and a branch */
    S_STORE,
    S_BRANCH,
    S_STRETCH,
    S_ENTERED, /* a stretch: helper's entry, a read */
    S_READ,
    S_ENTERS,
    S_LEFT, /* helper's exit */
    S_LEAVES,
    S_ENTERED2, /* both */
    S_LEFT2,
    S_BOTH,
    SITES
};

static const struct sites_site sites[SITES] = {
    [S_MAIN] = { .kind = SITE_ENTRY, .line = 1, .file = 1, .function = 5 },
    [S_COUNTER] = { .kind = SITE_READ,
                    .line = 3,
                    .column = 4,
                    .file = 1,
                    .function = 5,
                    .variable = 10 },
    [S_INLINED] = { .kind = SITE_WRITE, .line = 5, .file = 1, .function = 18, .inlined_at = 2 },
    [S_UNTRACED] = { .kind = SITE_CALL, .line = 7, .file = 1, .function = 5, .variable = 25 },
    [S_TRACED] = { .kind = SITE_CALL, .line = 8, .file = 1, .function = 5, .variable = 18 },
    [S_POINTER] = { .kind = SITE_CALL, .line = 9, .file = 1, .function = 5 },
    [S_HELPER] = { .kind = SITE_ENTRY, .line = 30, .file = 1, .function = 18 },
    [S_LOAD] = { .kind = SITE_READ, .line = 41, .size = 8, .file = 1, .function = 5 },
    [S_STORE] = { .kind = SITE_WRITE,
                  .line = 42,
                  .size = 1,
                  .file = 1,
                  .function = 5,
                  .from = FROM_VALUE | 1,
                  .offset = 4 },
    [S_BRANCH] = { .kind = SITE_BRANCH, .line = 43, .file = 1, .function = 5 },
    [S_STRETCH] = { .kind = SITE_STRETCH, .size = 2, .branches = 1 },
    [S_ENTERED] = { .kind = SITE_FRAME, .from = FRAME_ENTERED, .offset = S_HELPER },
    [S_READ] = { .kind = SITE_READ, .line = 31, .size = 2, .file = 1, .function = 18 },
    [S_ENTERS] = { .kind = SITE_STRETCH, .size = 2, .branches = STRETCH_LONG },
    [S_LEFT] = { .kind = SITE_FRAME, .from = FRAME_LEFT, .offset = S_HELPER },
    [S_LEAVES] = { .kind = SITE_STRETCH, .size = 1, .branches = STRETCH_LONG },
    [S_ENTERED2] = { .kind = SITE_FRAME, .from = FRAME_ENTERED, .offset = S_HELPER },
    [S_LEFT2] = { .kind = SITE_FRAME, .from = FRAME_LEFT, .offset = S_HELPER },
    [S_BOTH] = { .kind = SITE_STRETCH, .size = 2, .branches = STRETCH_LONG },
};

/* The write is inlined twice: at line 21 of helper, which is at line 20 of main. */
static const struct sites_frame frames[] = {
    { .file = 1, .line = 20, .column = 2, .function = 5 },
    { .file = 1, .line = 21, .function = 18, .inlined_at = 1 },
};

static void add_table(struct buf *b)
{
    struct sites_header h = { .id = { 77, 88 },
                              .nsites = SITES,
                              .nframes = 2,
                              .string_bytes = sizeof(strings),
                              .source = 1,
                              .directory = 34 };
    size_t start = b->len;

    memcpy(h.magic, SITES_MAGIC, 8);
    buf_add(b, &h, sizeof(h));
    buf_add(b, sites, sizeof(sites));
    buf_add(b, frames, sizeof(frames));
    buf_add(b, strings, sizeof(strings));
    while (b->len % 8)
        buf_addch(b, 0);
    h.total_bytes = b->len - start;
    memcpy(b->data + start, &h, sizeof(h));
}

static void make_elf(void)
{
    static const char names[] = "\0" SITES_SECTION "\0.shstrtab";
    Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                  EV_CURRENT },
                     .e_type = ET_EXEC,
                     .e_machine = EM_X86_64,
                     .e_version = EV_CURRENT,
                     .e_ehsize = sizeof(e),
                     .e_shentsize = sizeof(Elf64_Shdr),
                     .e_shnum = 3,
                     .e_shstrndx = 2 };
    Elf64_Shdr s[3] = { { 0 },
                        { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addralign = 8 },
                        { .sh_name = 1 + sizeof(SITES_SECTION), .sh_type = SHT_STRTAB } };
    struct buf b = { 0 };
    FILE *f;

    buf_add(&b, &e, sizeof(e));
    s[1].sh_offset = b.len;
    add_table(&b);
    s[1].sh_size = b.len - s[1].sh_offset;
    s[2].sh_offset = b.len;
    s[2].sh_size = sizeof(names);
    buf_add(&b, names, sizeof(names));
    while (b.len % 8)
        buf_addch(&b, 0);
    e.e_shoff = b.len;
    buf_add(&b, s, sizeof(s));
    memcpy(b.data, &e, sizeof(e));
    f = fopen(elf_path, "w");
    if (!f || fwrite(b.data, 1, b.len, f) != b.len || fclose(f))
        fail();
    buf_release(&b);
}

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(elf_path, sizeof(elf_path), "%s/prog", directory);
    make_elf();
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(elf_path);
    return rmdir(directory);
}

/* ---- the recorded process ---- */

enum { BASE = 1000 }; /* of the module's sites */
#define TRACED_CODE UINT64_C(0x400100)
#define OTHER_CODE  UINT64_C(0x900100)

static void log_program(struct mock *m)
{
    struct log_image image = { .low = 0x900000, .high = 0xa00000 };
    struct log_module module = { .id = { 77, 88 }, .base = BASE, .sites = SITES };

    mock_log(m, LOG_IMAGE, &image, sizeof(image), "/nowhere/libc", 14);
    image = (struct log_image){ .low = 0x400000, .high = 0x500000, .traced = 1 };
    mock_log(m, LOG_IMAGE, &image, sizeof(image), elf_path, strlen(elf_path) + 1);
    mock_log(m, LOG_MODULE, &module, sizeof(module), "", 0);
    m->h->threads = 1;
}

static void add_enter(struct mock_thread *t, uint32_t site, uint64_t back)
{
    mock_add(t, 2, RING_WORD(R_ENTER, 0, back), (uint64_t)(BASE + site));
}

static void add_exit(struct mock_thread *t, uint64_t n)
{
    mock_add(t, 1, RING_WORD(R_EXIT, 0, n));
}

static void add_call(struct mock_thread *t, uint32_t site, uint64_t pointer)
{
    mock_add(t, 4, RING_WORD(R_CALL, 0, 2), (uint64_t)(BASE + site), pointer, UINT64_C(0));
}

static void add_return(struct mock_thread *t, uint32_t site)
{
    mock_add(t, 3, RING_WORD(R_RETURN, 0, 0), (uint64_t)(BASE + site), UINT64_C(9));
}

/* *(char *)(*(char **)address + 4) = value; if (...) */
static void add_stretch(struct mock_thread *t, uint64_t address, uint64_t pointer, uint8_t value,
                        uint8_t outcome)
{
    uint64_t w[3] = { (BASE + S_STRETCH) | (uint64_t)outcome << 32 | (uint64_t)value << 40 |
                          (uint64_t)(STRETCH_MARK | 3) << 56,
                      address | pointer << 48, pointer >> 16 };

    mock_add(t, 3, w[0], w[1], w[2]);
}

static void run(struct mock *m)
{
    struct mock_thread t = { .m = m };

    mock_wait_ready(m);
    add_enter(&t, S_MAIN, OTHER_CODE);
    mock_access(&t, false, 0x100, 2, BASE + S_COUNTER);
    mock_access(&t, true, 0x108, 2, BASE + S_INLINED);
    add_call(&t, S_UNTRACED, 0x200);
    mock_stamp(&t);
    add_return(&t, S_UNTRACED);
    add_call(&t, S_TRACED, 0x300); /* no event: the table knows the function */
    add_enter(&t, S_HELPER, TRACED_CODE);
    add_exit(&t, 1);
    add_return(&t, S_TRACED);
    add_call(&t, S_POINTER, 0x400); /* no event: its function's entry follows */
    add_enter(&t, S_HELPER, TRACED_CODE);
    add_exit(&t, 1);
    add_return(&t, S_POINTER);
    add_call(&t, S_POINTER, 0x500); /* something untraced calls back */
    add_enter(&t, S_HELPER, OTHER_CODE);
    mock_hand_over(&t);
    add_exit(&t, 1);
    add_return(&t, S_POINTER);
    add_stretch(&t, 0x7f0000001000, 0x7f0000002000, 7, 1);
    add_exit(&t, 5);                 /* more than were entered */
    add_call(&t, S_UNTRACED, 0x600); /* the process dies in it */
    _exit(0);
}

static const char *record(struct mock *m, void (*program)(struct mock *m))
{
    struct recorder_options o = { .sink.directory = directory, .sink.name = "x%p.hdl" };
    static char path[128];
    struct error err = { "" };
    struct ring r;
    pid_t pid;

    mock_new(m, 100);
    log_program(m);
    pid = fork();
    if (pid == 0)
        program(m);
    m->h->pid = (uint32_t)pid;
    assert_int_equal(ring_open(&r, m->fd, &err), 0);
    if (recorder_run(&r, &o, &err) < 0)
        fail_msg("%s", err.text);
    ring_close(&r);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    snprintf(path, sizeof(path), "%s/x%d.hdl", directory, (int)pid);
    return path;
}

/* ---- what must come out ---- */

struct line {
    unsigned op;
    const char *location;
    const char *function; /* target of enter, exit, call, return */
    uint64_t pointer;     /* in D */
};

static const struct line want[] = {
    { OP_ENTER, "libc+0x9000ff", "main", 0 },   { OP_READ, "/src/a.c:3:4", NULL, 0 },
    { OP_WRITE, "/src/a.c:5", NULL, 0 },        { OP_CALL, "/src/a.c:7", "untraced", 0x200 },
    { OP_RETURN, "/src/a.c:7", "untraced", 0 }, { OP_ENTER, "prog+0x4000ff", "helper", 0 },
    { OP_EXIT, "/src/a.c:30", "helper", 0 },    { OP_ENTER, "prog+0x4000ff", "helper", 0 },
    { OP_EXIT, "/src/a.c:30", "helper", 0 },    { OP_CALL, "/src/a.c:9", "?", 0x500 },
    { OP_ENTER, "libc+0x9000ff", "helper", 0 }, { OP_EXIT, "/src/a.c:30", "helper", 0 },
    { OP_RETURN, "/src/a.c:9", "?", 0 },        { OP_READ, "/src/a.c:41", NULL, 0 },
    { OP_WRITE, "/src/a.c:42", NULL, 0 },       { OP_BRANCH, "/src/a.c:43", NULL, 0 },
    { OP_EXIT, "/src/a.c:1", "main", 0 },       { OP_CALL, "/src/a.c:7", "untraced", 0x600 },
};

static void check_line(const struct line *w, const struct event *ev, const struct trace_mem *mem,
                       const struct tables *t)
{
    assert_int_equal(ev->op, w->op);
    assert_string_equal(tables_location(t, ev->site), w->location);
    if (w->function)
        assert_string_equal(intern_get(&t->functions, (uint32_t)ev->target), w->function);
    if (ev->op == OP_CALL) {
        assert_int_equal(ev->old, 1);
        assert_int_equal(mem->extra[ev->value], w->pointer);
        assert_int_equal(mem->extra[ev->value + 1], 8);
    }
}

static void check_stretch(const struct event *ev)
{
    assert_int_equal(ev[0].target, 0x7f0000001000);
    assert_int_equal(ev[0].value, 0x7f0000002000);
    assert_int_equal(ev[0].size, 8);
    assert_int_equal(ev[1].target, 0x7f0000002004);
    assert_int_equal(ev[1].value, 7);
    assert_int_equal(ev[1].size, 1);
    assert_int_equal(ev[2].value, 1);
}

static void sites_stacks_and_calls_are_told(void **state)
{
    struct error err = { "" };
    struct trace_mem mem;
    const struct tables *names;
    struct trace *t;
    struct mock m;
    const char *path = record(&m, run);
    uint32_t site;

    (void)state;
    t = trace_open(path, &err);
    assert_non_null(t);
    unlink(path);
    assert_int_equal(trace_load(t, SIZE_MAX, &mem, &err), 0);
    names = trace_tables(t);
    assert_int_equal(mem.count, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < mem.count; i++)
        check_line(&want[i], &mem.events[i], &mem, names);
    site = mem.events[1].site;
    assert_string_equal(tables_site_variable(names, site), "counter");
    assert_string_equal(tables_site_function(names, site), "main");
    assert_int_equal(tables_site_parent(names, site), SITE_NONE);
    site = mem.events[2].site; /* helper in helper in main */
    assert_null(tables_site_variable(names, site));
    assert_string_equal(tables_site_function(names, site), "helper");
    site = tables_site_parent(names, site);
    assert_string_equal(tables_location(names, site), "/src/a.c:21");
    assert_string_equal(tables_site_function(names, site), "helper");
    site = tables_site_parent(names, site);
    assert_string_equal(tables_location(names, site), "/src/a.c:20:2");
    assert_string_equal(tables_site_function(names, site), "main");
    assert_int_equal(tables_site_parent(names, site), SITE_NONE);
    check_stretch(mem.events + 13);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

/* ---- objects and links ---- */

static void add_known_call(struct mock_thread *t, unsigned arg, uint64_t a, uint64_t b)
{
    mock_add(t, 4, RING_WORD(R_CALL, arg, 2), (uint64_t)(BASE + S_UNTRACED), a, b);
}

static void add_object(struct mock_thread *t, uint64_t address, uint64_t bytes, uint64_t slot,
                       uint64_t pointer)
{
    mock_add(t, 5, RING_WORD(R_OBJECT, 0, address), bytes, UINT64_C(1), slot, pointer);
}

static void set_handle(struct mock *m, uint32_t thread, uint64_t handle)
{
    struct ring_thread *all = (struct ring_thread *)(m->base + RING_THREADS_OFFSET);

    all[thread].tid = 1 + thread;
    all[thread].reserved[0] = handle;
}

static void run_objects(struct mock *m)
{
    struct mock_thread t = { .m = m };

    m->h->threads = 4;
    set_handle(m, 0, 0x7000);
    set_handle(m, 1, 0x8000);
    set_handle(m, 2, 0x9000);
    set_handle(m, 3, 0x8000); /* used again */
    mock_wait_ready(m);
    add_object(&t, 0x10000, 32, 0x10008, 0x20000);
    mock_stamp(&t);
    mock_add(&t, 7, RING_WORD(R_OBJECT, OBJECT_MORE, 0x10000), UINT64_C(32), UINT64_C(2),
             UINT64_C(0x10010), UINT64_C(0x50000), UINT64_C(0x10018), UINT64_MAX); /* no pointer */
    mock_add(&t, 5, RING_WORD(R_OBJECT, OBJECT_MORE, 0x10000), UINT64_C(32), UINT64_C(1),
             UINT64_C(0x10010), UINT64_C(0)); /* nor is this any more */
    add_object(&t, 0x20000, 8, 0x20000, 0x10000);
    add_known_call(&t, CALL_KNOWN, 0x10004, 0);
    add_enter(&t, S_HELPER, TRACED_CODE); /* not its entry, whatever it looks like */
    add_exit(&t, 1);
    add_return(&t, S_UNTRACED);
    add_object(&t, 0x30000, 16, 0x30000, 0x10000);
    add_call(&t, S_TRACED, 0x30000); /* no event, but what was told remains */
    add_enter(&t, S_HELPER, TRACED_CODE);
    add_exit(&t, 1);
    add_return(&t, S_TRACED);
    mock_add(&t, 3, RING_WORD(R_LINK, 0, 0x20000), UINT64_C(0x30008), (uint64_t)(BASE + S_STORE));
    mock_add(&t, 3, RING_WORD(R_LINK, 0, 0x30000), UINT64_MAX, (uint64_t)(BASE + S_STORE));
    add_known_call(&t, CALL_KNOWN, 0x8000, 0x7000); /* threads; not the own one */
    add_return(&t, S_UNTRACED);
    add_known_call(&t, CALL_KNOWN, 0x20000, 0x9000);
    add_return(&t, S_UNTRACED);
    add_known_call(&t, CALL_KNOWN | CALL_ALL, 0x20000, 0);
    add_return(&t, S_UNTRACED);
    add_object(&t, 0x40000, 8, 0x40000, 0x20000); /* and then it dies */
    _exit(0);
}

static const char objects_text[] = "call(untraced:0x10000:32,0x20000:8)|/src/a.c:7\n"
                                   "enter(helper)|prog+0x4000ff\n"
                                   "exit(helper)|/src/a.c:30\n"
                                   "ret(untraced)|/src/a.c:7\n"
                                   "object(0x30000:16)|/src/a.c:8\n"
                                   "link(0x30000=0x10000)|/src/a.c:8\n"
                                   "enter(helper)|prog+0x4000ff\n"
                                   "exit(helper)|/src/a.c:30\n"
                                   "link(0x20000=0x30008)|/src/a.c:42\n"
                                   "link(0x30000=0x0)|/src/a.c:42\n"
                                   "call(untraced:T3,T1)|/src/a.c:7\n"
                                   "ret(untraced)|/src/a.c:7\n"
                                   "call(untraced:T2,0x20000:8,0x30000:16)|/src/a.c:7\n"
                                   "ret(untraced)|/src/a.c:7\n"
                                   "call(untraced:*)|/src/a.c:7\n"
                                   "ret(untraced)|/src/a.c:7\n"
                                   "object(0x40000:8)|?\n"
                                   "link(0x40000=0x20000)|?\n";

/* All events of a recording, and whether they have values. */
static bool expect_text(void (*program)(struct mock *m), const char *wanted)
{
    struct error err = { "" };
    struct buf text = { 0 };
    struct trace_mem mem;
    struct trace *t;
    struct mock m;
    const char *path = record(&m, program);
    bool values;

    t = trace_open(path, &err);
    assert_non_null(t);
    unlink(path);
    assert_int_equal(trace_load(t, SIZE_MAX, &mem, &err), 0);
    for (size_t i = 0; i < mem.count; i++) {
        text_operation(&text, &mem.events[i], mem.extra, trace_tables(t));
        buf_addf(&text, "|%s\n", tables_location(trace_tables(t), mem.events[i].site));
    }
    buf_addch(&text, 0);
    assert_string_equal(text.data, wanted);
    values = trace_info(t)->values;
    buf_release(&text);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
    return values;
}

static void objects_links_and_known_calls_are_told(void **state)
{
    (void)state;
    assert_false(expect_text(run_objects, objects_text));
}

/* ---- frames of stretches ---- */

static uint64_t stretch_head(uint32_t site, unsigned words)
{
    return (BASE + site) | (uint64_t)(STRETCH_MARK | words) << 56;
}

/* helper(), with a read of two bytes; the stack has so many frames below it. */
static void add_entering(struct mock_thread *t, uint64_t back, uint64_t depth, uint64_t value)
{
    mock_add(t, 3, stretch_head(S_ENTERS, 3), back | depth << 48,
             UINT64_C(0x7f0000001000) | value << 48);
}

static void add_leaving(struct mock_thread *t, uint64_t depth)
{
    mock_add(t, 1, stretch_head(S_LEAVES, 1) | depth << 40);
}

static void run_frames(struct mock *m)
{
    struct mock_thread t = { .m = m };

    mock_wait_ready(m);
    add_enter(&t, S_MAIN, OTHER_CODE);
    add_entering(&t, TRACED_CODE, 1, 11);
    add_leaving(&t, 1);
    mock_add(&t, 2, stretch_head(S_BOTH, 2), TRACED_CODE | UINT64_C(1) << 48);
    add_entering(&t, TRACED_CODE, 1, 12);
    add_entering(&t, OTHER_CODE, 2, 13);
    add_leaving(&t, 1); /* of both */
    add_entering(&t, TRACED_CODE, 1, 14);
    mock_hand_over(&t);
    add_entering(&t, TRACED_CODE, 1, 15); /* the same frame: no entry */
    mock_add(&t, 2, stretch_head(S_BOTH, 2), OTHER_CODE | UINT64_C(1) << 48); /* again */
    add_leaving(&t, 1);                                                       /* there is none */
    add_call(&t, S_POINTER, 0x400); /* no event: its function's entry follows */
    add_entering(&t, TRACED_CODE, 1, 16);
    add_leaving(&t, 1);
    add_return(&t, S_POINTER);
    add_call(&t, S_POINTER, 0x500); /* something untraced calls back */
    add_entering(&t, OTHER_CODE, 1, 17);
    add_leaving(&t, 1);
    add_return(&t, S_POINTER);
    _exit(0);
}

static const char frames_text[] = "enter(main)|libc+0x9000ff\n"
                                  "enter(helper)|prog+0x4000ff\n"
                                  "r(0x7f0000001000:2=11)|/src/a.c:31\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "enter(helper)|prog+0x4000ff\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "enter(helper)|prog+0x4000ff\n"
                                  "r(0x7f0000001000:2=12)|/src/a.c:31\n"
                                  "enter(helper)|libc+0x9000ff\n"
                                  "r(0x7f0000001000:2=13)|/src/a.c:31\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "enter(helper)|prog+0x4000ff\n"
                                  "r(0x7f0000001000:2=14)|/src/a.c:31\n"
                                  "r(0x7f0000001000:2=15)|/src/a.c:31\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "enter(helper)|prog+0x4000ff\n"
                                  "r(0x7f0000001000:2=16)|/src/a.c:31\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "call(?:0x500:8)|/src/a.c:9\n"
                                  "enter(helper)|libc+0x9000ff\n"
                                  "r(0x7f0000001000:2=17)|/src/a.c:31\n"
                                  "exit(helper)|/src/a.c:30\n"
                                  "ret(?)|/src/a.c:9\n";

static void frames_of_stretches_are_told(void **state)
{
    (void)state;
    assert_true(expect_text(run_frames, frames_text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_stacks_and_calls_are_told),
        cmocka_unit_test(objects_links_and_known_calls_are_told),
        cmocka_unit_test(frames_of_stretches_are_told),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
