/* test_record.c - the writer: raw records in shared memory to a .hdl file
 *
 * The recorded process is a fork of the test that fills chunks as the runtime
 * does; the test's own process is the writer. What is in the file is compared
 * with what the process put into the memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring_tools.h"

#include "record/recorder.h"
#include "trace/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char directory[] = "/tmp/heddle-record-XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

/* ---- the recorded process ---- */

typedef void scenario(struct mock *m, void *arg);

static pid_t start_process(struct mock *m, scenario *run, void *arg)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        mock_wait_ready(m);
        run(m, arg);
        _exit(0);
    }
    m->h->pid = (uint32_t)pid;
    return pid;
}

/* Records the process until it is gone; the trace is at the path returned. */
static const char *write_trace(struct mock *m, struct recorder_options *o)
{
    static char path[512];
    struct error err = { "" };
    struct ring r;

    o->sink.directory = directory;
    snprintf(path, sizeof(path), "%s/%u.hdl", directory, m->h->pid);
    assert_int_equal(ring_open(&r, m->fd, &err), 0);
    if (recorder_run(&r, o, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(m->h->writer_state, WRITER_DONE);
    ring_close(&r);
    return path;
}

static struct recorder_options plain_options(void)
{
    return (struct recorder_options){ .sink.compression = HDL_LZ4, .workers = 2 };
}

/* The file is read and forgotten. */
static struct trace *open_trace(const char *path)
{
    struct error err = { "" };
    struct trace *t = trace_open(path, &err);

    if (!t)
        fail_msg("%s", err.text);
    unlink(path);
    return t;
}

static struct trace *record(struct mock *m, scenario *run, void *arg, struct recorder_options *o)
{
    struct recorder_options plain = plain_options();
    pid_t pid = start_process(m, run, arg);
    struct trace *t = open_trace(write_trace(m, o ? o : &plain));

    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return t;
}

/* ---- what is in the trace ---- */

static struct trace_mem load(struct trace *t)
{
    struct trace_mem mem;
    struct error err = { "" };

    if (trace_load(t, SIZE_MAX, &mem, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(trace_info(t)->loss, "");
    return mem;
}

static size_t count_op(const struct trace_mem *mem, unsigned op)
{
    size_t n = 0;

    for (size_t i = 0; i < mem->count; i++)
        n += mem->events[i].op == op;
    return n;
}

/* ---- cases ---- */

/* Thread t writes to address t << 30 | 8 i for i = 0, 1, 2 ... */
static uint64_t counted_address(uint32_t thread, uint64_t i)
{
    return (uint64_t)thread << 30 | 8 * i;
}

static void write_counted(struct mock_thread *t, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        if (i % 16 == 0)
            mock_stamp(t);
        mock_access(t, true, counted_address(t->thread, i), 3, 0);
    }
}

/* Every thread's writes are there from the first on, without a gap; n[t] gets how many. */
static void check_counted(const struct trace_mem *mem, uint64_t *n, size_t threads)
{
    memset(n, 0, threads * sizeof(*n));
    for (size_t i = 0; i < mem->count; i++) {
        const struct event *ev = &mem->events[i];

        if (ev->op != OP_WRITE)
            continue;
        assert_true(ev->thread < threads);
        assert_int_equal(ev->size, 8);
        assert_int_equal(ev->target, counted_address(ev->thread, n[ev->thread]++));
    }
}

static void run_small(struct mock *m, void *arg)
{
    struct mock_thread t;

    (void)arg;
    m->h->threads = 2;
    mock_thread_begin(m, &t, 0);
    mock_access(&t, false, 0x1000, 2, 7);
    mock_sync(&t, OP_ACQUIRE, 0x2000, WHERE_PC);
    mock_add(&t, 2, RING_WORD(R_ACCESS, ACCESS_WRITE | 2 << 1 | ACCESS_VALUE32, 0x1004),
             UINT64_C(42) << 32 | 7);
    mock_add(&t, 3, RING_WORD(R_ACCESS, ACCESS_WRITE | 3 << 1 | ACCESS_VALUE64, 0x1008),
             UINT64_C(7), UINT64_C(0x123456789abcdef));
    mock_add(&t, 2, RING_WORD(R_ACCESS, 1 << 1 | ACCESS_STEPS, 0x1020),
             UINT64_C(3) << 32 | UINT64_C(0xfffa) << 48 | 7); /* 6 bytes back each */
    mock_add(&t, 3, RING_WORD(R_RANGE, ACCESS_WRITE, 0x100000), WHERE_PC, (UINT64_C(5) << 20) / 2);
    mock_sync(&t, OP_RELEASE, 0x2000, WHERE_PC);
    mock_add(&t, 5, RING_WORD(R_ATOMIC, (OP_RMW - OP_LOAD) | 2 << 2 | 2 << 6, 0x3000), WHERE_PC,
             mock_number(m, OP_RMW, 0x3000) << 8 | ORDER_ACQ_REL, UINT64_C(6), UINT64_C(5));
    mock_add(&t, 2, RING_WORD(R_FENCE, ORDER_SEQ_CST, 0), WHERE_PC);
    mock_add(&t, 1, RING_WORD(R_BRANCH, 0, UINT64_C(1) << 32 | 7));
    mock_sync(&t, OP_FORK, 1, WHERE_PC);
    mock_memory(&t, OP_ALLOC, 0x5000, 48);
    mock_memory(&t, OP_FREE, 0x5000, 0);
    mock_memory(&t, OP_FREE, 0x6000, 0);
    mock_thread_end(&t);
}

static void records_become_events(void **state)
{
    static const struct event want[] = {
        { .op = OP_BEGIN },
        { .op = OP_READ, .target = 0x1000, .size = 4 },
        { .op = OP_ACQUIRE, .target = 0x2000 },
        { .op = OP_WRITE, .target = 0x1004, .size = 4, .flags = EV_VALUE, .value = 42 },
        { .op = OP_WRITE,
          .target = 0x1008,
          .size = 8,
          .flags = EV_VALUE,
          .value = 0x123456789abcdef },
        { .op = OP_READ, .target = 0x1020, .size = 2 },
        { .op = OP_READ, .target = 0x101a, .size = 2 },
        { .op = OP_READ, .target = 0x1014, .size = 2 },
        { .op = OP_WRITE, .target = 0x100000, .size = 1 << 20 },
        { .op = OP_WRITE, .target = 0x200000, .size = 1 << 20 },
        { .op = OP_WRITE, .target = 0x300000, .size = 1 << 19 },
        { .op = OP_RELEASE, .target = 0x2000 },
        { .op = OP_RMW,
          .target = 0x3000,
          .size = 4,
          .order = ORDER_ACQ_REL,
          .flags = EV_VALUE | EV_OLD,
          .value = 6,
          .old = 5 },
        { .op = OP_FENCE, .order = ORDER_SEQ_CST },
        { .op = OP_BRANCH, .flags = EV_VALUE, .value = 1 },
        { .op = OP_FORK, .target = 1 },
        { .op = OP_ALLOC, .target = 0x5000, .value = 48 },
        { .op = OP_FREE, .target = 0x5000, .value = 48 }, /* the merger knows the size */
        { .op = OP_FREE, .target = 0x6000, .value = 0 },  /* nobody does */
        { .op = OP_END },
    };
    struct mock m;
    struct trace *t;
    struct trace_mem mem;

    (void)state;
    mock_new(&m, 1000);
    t = record(&m, run_small, NULL, NULL);
    mem = load(t);
    assert_int_equal(mem.count, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < mem.count; i++) {
        const struct event *e = &mem.events[i], *w = &want[i];

        if (e->op != w->op || e->target != w->target || e->size != w->size ||
            e->order != w->order || e->flags != w->flags || e->value != w->value ||
            e->old != w->old || e->thread != 0 || e->site != SITE_NONE)
            fail_msg("event %zu: %s of 0x%lx", i, op_table[e->op].name, (long)e->target);
    }
    assert_string_equal(intern_get(&trace_tables(t)->threads, 1), "T1");
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

static void run_process(struct mock *m, void *arg)
{
    static const char words[] = "./prog\0-x\0a b";
    struct log_image image = {
        .base = 0x400000, .low = 0x400000, .high = 0x500000, .build_id_bytes = 3
    };
    struct log_module module = { .id = { 1, 2 }, .base = 10, .sites = 5 };
    struct ring_thread *thread = (struct ring_thread *)(m->base + RING_THREADS_OFFSET);
    struct mock_thread t;

    (void)arg;
    m->h->threads = 1;
    m->h->filtered = 12;
    m->h->lost = 3;
    mock_log(m, LOG_PROCESS, "", 0, words, sizeof(words));
    mock_log(m, LOG_IMAGE, &image, sizeof(image), "/nowhere/libx.so", 17);
    image.traced = 1;
    image.low = 0x700000;
    image.high = 0x800000;
    mock_log(m, LOG_IMAGE, &image, sizeof(image), "/nowhere/prog", 14);
    mock_log(m, LOG_MODULE, &module, sizeof(module), "", 0);
    mock_log(m, LOG_TEXT, "", 0, "a note", 7);
    thread->tid = 4711;
    strcpy(thread->name, "main thread");
    mock_thread_begin(m, &t, 0);
    mock_access(&t, true, 0x10, 0, 12);
    mock_add(&t, 2, RING_WORD(R_ACCESS, ACCESS_WRITE | ACCESS_PC, 0x20),
             WHERE_PC | UINT64_C(0x700010));
    mock_thread_end(&t);
    _exit(3);
}

static void the_process_is_described(void **state)
{
    struct mock m;
    struct trace *t;
    struct trace_mem mem;
    const struct process *p;
    const struct tables *names;
    char text[64];

    (void)state;
    mock_new(&m, 1000);
    t = record(&m, run_process, NULL, NULL);
    mem = load(t);
    names = trace_tables(t);
    p = &names->process;
    assert_true(p->known);
    assert_int_equal(p->numbers[PROCESS_PID], m.h->pid);
    assert_int_equal(p->numbers[PROCESS_MODE], RING_MODE_RECORD);
    assert_int_equal(p->numbers[PROCESS_FILTERED], 12);
    assert_int_equal(p->numbers[PROCESS_LOST], 3);
    assert_string_equal(p->command, "./prog -x a b");
    assert_string_equal(process_end_text(p, text, sizeof(text)), "exited with status 3");
    assert_string_equal(process_thread_name(p, 0), "main thread");
    assert_null(process_thread_name(p, 1));
    assert_int_equal(names->nimages, 2);
    assert_string_equal(names->images[0].path, "/nowhere/libx.so");
    assert_false(names->images[0].traced);
    assert_true(names->images[1].traced);
    assert_int_equal(names->images[1].modules, 1);
    assert_int_equal(names->images[1].sites, 5);
    assert_true(p->nnotes >= 2);
    assert_string_equal(p->notes[0], "a note");
    /* without the files there is still something to tell sites apart */
    assert_string_equal(tables_location(names, mem.events[1].site), "prog#12");
    assert_string_equal(tables_location(names, mem.events[2].site), "prog+0x30000f");
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

enum { PRODUCERS = 6, WRITES = 200000 };

struct producer {
    struct mock *m;
    uint32_t thread;
    uint64_t writes;
};

static void *produce(void *arg)
{
    struct producer *p = arg;
    struct mock_thread t;

    mock_thread_begin(p->m, &t, p->thread);
    for (uint64_t i = 0; i < p->writes; i += 1000) {
        mock_sync(&t, OP_ACQUIRE, 0x7000 + 8 * (i / 1000 % 3), WHERE_PC);
        write_counted(&t, i, i + 1000);
        mock_sync(&t, OP_RELEASE, 0x7000 + 8 * (i / 1000 % 3), WHERE_PC);
    }
    mock_thread_end(&t);
    return NULL;
}

static void run_threads(struct mock *m, void *arg)
{
    struct producer p[PRODUCERS];
    pthread_t threads[PRODUCERS];

    (void)arg;
    m->h->threads = PRODUCERS;
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        p[i] = (struct producer){ m, i, WRITES };
        pthread_create(&threads[i], NULL, produce, &p[i]);
    }
    for (uint32_t i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
}

static void threads_keep_all_their_records(void **state)
{
    static const enum hdl_compression kinds[] = { HDL_RAW, HDL_LZ4, HDL_ZSTD };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct recorder_options o = plain_options();
        uint64_t n[PRODUCERS];
        struct mock m;
        struct trace *t;
        struct trace_mem mem;

        o.sink.compression = kinds[i];
        o.workers = 1 + i;
        mock_new(&m, 64);
        t = record(&m, run_threads, NULL, &o);
        mem = load(t);
        check_counted(&mem, n, PRODUCERS);
        for (unsigned k = 0; k < PRODUCERS; k++)
            assert_int_equal(n[k], WRITES);
        assert_int_equal(count_op(&mem, OP_ACQUIRE), PRODUCERS * WRITES / 1000);
        assert_int_equal(count_op(&mem, OP_END), PRODUCERS);
        assert_true(m.h->chunks < 64 + 3 * PRODUCERS); /* chunks went round */
        trace_mem_release(&mem);
        trace_close(t);
        mock_free(&m);
    }
}

/* What was complete when the process was killed; in shared memory. */
static uint64_t *committed;

static void *produce_for_ever(void *arg)
{
    struct producer *p = arg;
    struct mock_thread t;

    mock_thread_begin(p->m, &t, p->thread);
    for (uint64_t i = 0;; i++) {
        write_counted(&t, i, i + 1);
        __atomic_store_n(&committed[p->thread], i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void run_until_killed(struct mock *m, void *arg)
{
    struct producer p[3];
    pthread_t thread;

    (void)arg;
    m->h->threads = 3;
    for (uint32_t i = 0; i < 3; i++) {
        p[i] = (struct producer){ m, i, 0 };
        pthread_create(&thread, NULL, produce_for_ever, &p[i]);
    }
    pthread_join(thread, NULL);
}

static void *kill_later(void *arg)
{
    pid_t pid = *(pid_t *)arg;
    static unsigned round;
    const struct timespec nap = { 0, (long)(200000 + 1777777 * (round++ % 13)) };

    nanosleep(&nap, NULL);
    kill(pid, SIGKILL);
    return NULL;
}

static void a_killed_process_leaves_all_complete_records(void **state)
{
    (void)state;
    committed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 26; round++) {
        struct recorder_options o = plain_options();
        uint64_t n[3];
        struct trace_mem mem;
        struct trace *t;
        pthread_t killer;
        struct mock m;
        pid_t pid;
        char text[64];

        memset(committed, 0, 4096);
        mock_new(&m, 64);
        pid = start_process(&m, run_until_killed, NULL);
        pthread_create(&killer, NULL, kill_later, &pid);
        t = open_trace(write_trace(&m, &o));
        pthread_join(killer, NULL);
        mem = load(t);
        assert_string_equal(process_end_text(&trace_tables(t)->process, text, sizeof(text)),
                            "killed by signal 9 (KILL)");
        waitpid(pid, NULL, 0);
        check_counted(&mem, n, 3);
        for (int i = 0; i < 3; i++) {
            assert_true(n[i] >= committed[i]);
            assert_true(n[i] <= committed[i] + 1);
        }
        trace_mem_release(&mem);
        trace_close(t);
        mock_free(&m);
    }
    munmap(committed, 4096);
}

/* Many threads alive at once, a few records each time. */
static void run_thousand(struct mock *m, void *arg)
{
    enum { THREADS = 1000 };
    struct mock_thread *t = calloc(THREADS, sizeof(*t));

    (void)arg;
    m->h->threads = THREADS;
    for (uint32_t i = 0; i < THREADS; i++)
        mock_thread_begin(m, &t[i], i);
    for (uint64_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < THREADS; i++) {
            write_counted(&t[i], round * 50, round * 50 + 50);
            if (round % 3 == 2)
                mock_hand_over(&t[i]);
        }
    }
    for (uint32_t i = 0; i < THREADS; i++)
        mock_thread_end(&t[i]);
}

static void a_thousand_threads_live_at_once(void **state)
{
    uint64_t n[1000];
    struct trace_mem mem;
    struct trace *t;
    struct mock m;

    (void)state;
    mock_new(&m, 2000);
    t = record(&m, run_thousand, NULL, NULL);
    mem = load(t);
    check_counted(&mem, n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(n[i], 500);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

enum { SHORT_THREADS = 100000 };

static void run_short_threads(struct mock *m, void *arg)
{
    struct mock_thread main, t;

    (void)arg;
    m->h->threads = 1;
    mock_thread_begin(m, &main, 0);
    for (uint32_t i = 1; i <= SHORT_THREADS; i++) {
        m->h->threads = i + 1;
        mock_sync(&main, OP_FORK, i, WHERE_PC);
        mock_thread_begin(m, &t, i);
        mock_access(&t, true, counted_address(i, 0), 3, 0);
        mock_thread_end(&t);
        mock_sync(&main, OP_JOIN, i, WHERE_PC);
    }
    mock_thread_end(&main);
}

static void a_hundred_thousand_short_threads(void **state)
{
    uint64_t *n = calloc(SHORT_THREADS + 1, sizeof(*n));
    struct trace_mem mem;
    struct trace *t;
    struct mock m;

    (void)state;
    mock_new(&m, 256);
    t = record(&m, run_short_threads, NULL, NULL);
    mem = load(t);
    check_counted(&mem, n, SHORT_THREADS + 1);
    for (int i = 1; i <= SHORT_THREADS; i++)
        assert_int_equal(n[i], 1);
    assert_int_equal(count_op(&mem, OP_JOIN), SHORT_THREADS);
    assert_int_equal(trace_tables(t)->threads.count, SHORT_THREADS + 1);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
    free(n);
}

static void run_exec(struct mock *m, void *arg)
{
    struct mock_thread t;

    (void)arg;
    m->h->threads = 1;
    mock_thread_begin(m, &t, 0);
    write_counted(&t, 0, 100);
    m->h->exec = 1;
    execl("/bin/sleep", "sleep", "1.5", NULL);
    _exit(1);
}

static void exec_ends_the_recording(void **state)
{
    uint64_t n[1];
    struct timespec before, after;
    struct recorder_options o = plain_options();
    struct trace_mem mem;
    struct trace *t;
    struct mock m;
    pid_t pid;

    (void)state;
    mock_new(&m, 256);
    pid = start_process(&m, run_exec, NULL);
    clock_gettime(CLOCK_MONOTONIC, &before);
    t = open_trace(write_trace(&m, &o));
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec * 1000 + after.tv_nsec / 1000000 - before.tv_sec * 1000 -
                    before.tv_nsec / 1000000 <
                1000); /* not first when the other program ends */
    mem = load(t);
    check_counted(&mem, n, 1);
    assert_int_equal(n[0], 100);
    assert_int_equal(trace_tables(t)->process.numbers[PROCESS_END], PROCESS_EXECED);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

/* A handler interrupts the thread between its records 1 and 2, twice, and once at its end. */
static void run_handler(struct mock *m, void *arg)
{
    struct mock_thread t, saved;
    uint32_t at, serial;

    (void)arg;
    m->h->threads = 1;
    mock_thread_begin(m, &t, 0);
    write_counted(&t, 1, 2);
    for (uint64_t i = 2; i < 6; i += 2) {
        saved = t;
        serial = t.chunk->serial;
        at = (uint32_t)t.chunk->cursor;
        t.chunk = NULL;
        mock_take_chunk(&t);
        t.chunk->insert_serial = serial;
        t.chunk->insert_at = at;
        write_counted(&t, i, i + 1);
        mock_hand_over(&t);
        saved.serial = t.serial;
        t = saved;
        write_counted(&t, i + 1, i + 2);
    }
    write_counted(&t, 6, 9);
    mock_hand_over(&t); /* an ordinary chunk follows */
    write_counted(&t, 9, 20);
    mock_thread_end(&t);
}

static void a_handlers_records_stand_where_it_interrupted(void **state)
{
    struct trace_mem mem;
    struct trace *t;
    struct mock m;
    uint64_t next = 1;

    (void)state;
    mock_new(&m, 256);
    t = record(&m, run_handler, NULL, NULL);
    mem = load(t);
    for (size_t i = 0; i < mem.count; i++)
        if (mem.events[i].op == OP_WRITE)
            assert_int_equal(mem.events[i].target, counted_address(0, next++));
    assert_int_equal(next, 20);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

/* Two threads do the same; T0 tells of frames one by one, T1 of moves. */
static void run_moves(struct mock *m, void *arg)
{
    const uint64_t f = WHERE_PC | 0x1000, g = WHERE_PC | 0x2000, h = WHERE_PC | 0x3000;
    struct mock_thread t;

    (void)arg;
    m->h->threads = 2;
    mock_thread_begin(m, &t, 0);
    for (int i = 0; i < 3; i++) {
        mock_add(&t, 2, RING_WORD(R_ENTER, 0, 0x11), f);
        mock_add(&t, 2, RING_WORD(R_ENTER, 0, 0x22), g);
        mock_access(&t, false, 0x5000, 2, 7);
        mock_add(&t, 1, RING_WORD(R_EXIT, 0, 1));
        mock_add(&t, 2, RING_WORD(R_ENTER, 0, 0x33), h);
        mock_access(&t, false, 0x6000, 2, 7);
        mock_add(&t, 1, RING_WORD(R_EXIT, 0, 2));
        mock_access(&t, false, 0x7000, 2, 7);
    }
    mock_add(&t, 2, RING_WORD(R_ENTER, 0, 0x11), f); /* T1 is too deep for moves by now */
    mock_add(&t, 1, RING_WORD(R_EXIT, 0, 1));
    mock_thread_end(&t);
    mock_thread_begin(m, &t, 1);
    for (int i = 0; i < 3; i++) {
        if (i) {
            mock_add(&t, 1, RING_WORD(R_MOVE, 0, 5));
            mock_access(&t, false, 0x5000, 2, 7);
            mock_add(&t, 1, RING_WORD(R_MOVE, 0, 2000));
            mock_access(&t, false, 0x6000, 2, 7);
            mock_add(&t, 1, RING_WORD(R_MOVE, 0, 6));
            mock_access(&t, false, 0x7000, 2, 7);
            continue;
        }
        mock_add(&t, 5, RING_WORD(R_MOVE, MOVE_NEW, 5 | 2 << 24), UINT64_C(0x11), f, UINT64_C(0x22),
                 g);
        mock_access(&t, false, 0x5000, 2, 7);
        mock_add(&t, 3, RING_WORD(R_MOVE, MOVE_NEW, 2000 | 1 << 16 | 1 << 24), UINT64_C(0x33), h);
        mock_access(&t, false, 0x6000, 2, 7);
        mock_add(&t, 1, RING_WORD(R_MOVE, MOVE_NEW, 6 | 2 << 16));
        mock_access(&t, false, 0x7000, 2, 7);
    }
    mock_add(&t, 2, RING_WORD(R_ENTER, 0, 0x11), f);
    mock_add(&t, 1, RING_WORD(R_EXIT, 0, 1));
    mock_thread_end(&t);
}

static void moves_are_the_enters_and_exits_they_stand_for(void **state)
{
    struct event seen[2][64];
    size_t n[2] = { 0 };
    struct trace_mem mem;
    struct trace *t;
    struct mock m;

    (void)state;
    mock_new(&m, 256);
    t = record(&m, run_moves, NULL, NULL);
    mem = load(t);
    for (size_t i = 0; i < mem.count; i++) {
        struct event ev = mem.events[i];

        assert_true(ev.thread < 2 && n[ev.thread] < 64);
        seen[ev.thread][n[ev.thread]] = ev;
        seen[ev.thread][n[ev.thread]++].thread = 0;
    }
    assert_int_equal(n[0], 1 + 3 * 9 + 2 + 1);
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(seen[0], seen[1], n[0] * sizeof(seen[0][0]));
    assert_int_equal(seen[1][4].op, OP_EXIT); /* of g, at its own place, not where it was called */
    assert_int_equal(seen[1][4].target, seen[1][2].target);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

/* Memory that went mad. */
static void run_mad(struct mock *m, void *arg)
{
    struct mock_thread t;

    (void)arg;
    m->h->threads = 6;
    for (uint32_t i = 4; i < 6; i++) {
        mock_thread_begin(m, &t, i);
        write_counted(&t, 0, 10);
        mock_add(&t, 1, RING_WORD(R_MOVE, i - 4, 9)); /* never told of; neither left nor entered */
        write_counted(&t, 10, 20);
        mock_hand_over(&t);
    }
    for (uint32_t i = 0; i < 3; i++) {
        mock_thread_begin(m, &t, i);
        write_counted(&t, 0, 10);
        if (i == 0)
            mock_add(&t, 1, RING_WORD(200, 1, 1)); /* no such record */
        if (i == 1)
            t.chunk->cursor = UINT64_C(1) << 40;
        if (i == 2)
            mock_add(&t, 3, RING_WORD(R_SYNC, OP_FORK, 77777), WHERE_PC, UINT64_C(1));
        if (i != 1)
            write_counted(&t, 10, 20);
        mock_hand_over(&t);
    }
    mock_thread_begin(m, &t, 3);
    write_counted(&t, 0, 10);
    mock_hand_over(&t);
    mock_take_chunk(&t);
    t.chunk->thread = 12345678;
    mock_hand_over(&t);
    /* a list that ends nowhere */
    mock_take_chunk(&t);
    t.chunk->next = 4000000;
    __atomic_store_n(&m->h->full_head, (UINT64_C(77) << 32) | (t.chunk->number + 1),
                     __ATOMIC_SEQ_CST);
}

static void damage_is_told_and_hurts_nobody(void **state)
{
    struct trace_mem mem;
    struct trace *t;
    struct mock m;
    uint64_t n[6];
    const struct process *p;

    (void)state;
    mock_new(&m, 256);
    t = record(&m, run_mad, NULL, NULL);
    mem = load(t);
    check_counted(&mem, n, 6);
    p = &trace_tables(t)->process;
    assert_int_equal(n[0], 10); /* up to the damage */
    assert_int_equal(n[1], 0);
    assert_int_equal(n[2], 10);
    assert_int_equal(n[4], 10);
    assert_int_equal(n[5], 10);
    assert_true(p->numbers[PROCESS_DAMAGED] >= 6);
    assert_true(p->nnotes >= 3);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

static void the_size_limit_stops_the_recording(void **state)
{
    struct recorder_options o = plain_options();
    struct trace_mem mem;
    struct trace *t;
    struct mock m;
    struct error err;

    (void)state;
    o.sink.max_bytes = 20000;
    mock_new(&m, 16);
    t = record(&m, run_threads, NULL, &o);
    assert_int_equal(trace_load(t, SIZE_MAX, &mem, &err), 0); /* a prefix of each thread */
    assert_true(mem.count > 1000);
    assert_true(mem.count < PRODUCERS * WRITES);
    assert_int_equal(m.h->stop, 1);
    assert_true(trace_tables(t)->process.numbers[PROCESS_DROPPED] > 0);
    assert_non_null(strstr(trace_tables(t)->process.notes[0], "recording stopped: the trace has"));
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

static void a_full_disk_stops_the_recording(void **state)
{
    struct rlimit old, small;
    struct recorder_options o = plain_options();
    struct error err = { "" };
    struct trace_mem mem;
    struct trace *t;
    struct mock m;
    struct ring r;
    char path[512];
    pid_t pid;

    (void)state;
    mock_new(&m, 16);
    pid = start_process(&m, run_threads, NULL);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){ 20000, old.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    o.sink.directory = directory;
    snprintf(path, sizeof(path), "%s/%d.hdl", directory, pid);
    assert_int_equal(ring_open(&r, m.fd, &err), 0);
    setrlimit(RLIMIT_FSIZE, &small);
    (void)recorder_run(&r, &o, &err); /* the end mark fits, or not */
    setrlimit(RLIMIT_FSIZE, &old);
    ring_close(&r);
    assert_int_equal(m.h->stop, 1);
    waitpid(pid, NULL, 0);
    t = open_trace(path);
    assert_int_equal(trace_load(t, SIZE_MAX, &mem, &err), 0);
    assert_true(mem.count > 0); /* as much as needs nothing that was not written any more */
    assert_true(mem.count < PRODUCERS * WRITES);
    trace_mem_release(&mem);
    trace_close(t);
    mock_free(&m);
}

static void run_lossy(struct mock *m, void *arg)
{
    struct mock_thread t;

    (void)arg;
    m->h->threads = 1;
    m->h->lost = 5;
    mock_thread_begin(m, &t, 0);
    mock_add(&t, 1, RING_WORD(R_LOST, 0, 7));
    mock_access(&t, true, 0x10, 0, 0);
    mock_add(&t, 1, RING_WORD(R_LOST, 0, 4));
    mock_add(&t, 1, RING_WORD(R_END, 0, 0));
}

static void what_was_lost_is_counted(void **state)
{
    struct trace *t;
    struct mock m;

    (void)state;
    mock_new(&m, 16);
    t = record(&m, run_lossy, NULL, NULL);
    assert_int_equal(trace_tables(t)->process.numbers[PROCESS_LOST], 11);
    trace_close(t);
    mock_free(&m);
}

/* The program that a process becomes has a file of its own; who waits for a file waits for its
 * lock. */
static void *lock_file(void *path)
{
    int fd = -1;

    while (fd < 0)
        fd = open(path, O_RDONLY);
    flock(fd, LOCK_EX);
    close(fd);
    return NULL;
}

static void run_short(struct mock *m, void *arg)
{
    const struct timespec nap = { 0, 30000000 };

    run_lossy(m, arg);
    nanosleep(&nap, NULL);
}

static void files_get_new_names_and_are_locked(void **state)
{
    struct recorder_options o = plain_options();
    struct error err = { "" };
    pthread_t waiter;
    char first[512], second[512];
    struct mock m;
    struct ring r;
    int fd;
    pid_t pid;

    (void)state;
    mock_new(&m, 16);
    pid = start_process(&m, run_short, NULL);
    snprintf(first, sizeof(first), "%s/a-%d.hdl", directory, pid);
    snprintf(second, sizeof(second), "%s/a-%d-2.hdl", directory, pid);
    fd = open(first, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    close(fd);
    o.sink.directory = directory;
    o.sink.name = "a-%p";
    assert_int_equal(ring_open(&r, m.fd, &err), 0);
    pthread_create(&waiter, NULL, lock_file, second);
    assert_int_equal(recorder_run(&r, &o, &err), 0);
    pthread_join(waiter, NULL);
    ring_close(&r);
    waitpid(pid, NULL, 0);
    trace_close(open_trace(second));
    assert_int_equal(unlink(first), 0);
    mock_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_become_events),
        cmocka_unit_test(the_process_is_described),
        cmocka_unit_test(threads_keep_all_their_records),
        cmocka_unit_test(a_killed_process_leaves_all_complete_records),
        cmocka_unit_test(a_thousand_threads_live_at_once),
        cmocka_unit_test(a_hundred_thousand_short_threads),
        cmocka_unit_test(exec_ends_the_recording),
        cmocka_unit_test(a_handlers_records_stand_where_it_interrupted),
        cmocka_unit_test(moves_are_the_enters_and_exits_they_stand_for),
        cmocka_unit_test(damage_is_told_and_hurts_nobody),
        cmocka_unit_test(the_size_limit_stops_the_recording),
        cmocka_unit_test(a_full_disk_stops_the_recording),
        cmocka_unit_test(what_was_lost_is_counted),
        cmocka_unit_test(files_get_new_names_and_are_locked),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
