/* recorder.c - the life of a recording
 *
 * Collect full chunks and work on them until the process is gone: it ended (a
 * thread waits for that on a process file descriptor), or it became another
 * program (exec), which shows in its mappings. Then take what its threads were
 * filling, and complete the file.
 */
#include "record/recorder.h"
#include "base/alloc.h"
#include "record/control.h"
#include "record/pool.h"
#include "record/reply.h"
#include "record/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_MS = 100,  /* the process wakes us when there is much to do; else we look */
    LOOK_MS = 3000, /* is it still the same program? exec announces itself, mostly */
    IDLE_MS = 2000, /* who reads the file while it grows sees all but the last seconds */
    /* The file is brought up to date at first soon, then when an eighth has come, in time or in
     * bytes, since the last time, so that little is lost whenever it is cut, and few chunks are
     * smaller for it. Each stream costs some 300 bytes and 50 us. */
    FRESH_PART = 8,
    FRESH_MS_MIN = 8,
    FRESH_MS_MAX = 1000,
    FRESH_BYTES_MIN = 1 << 15,
    FRESH_BYTES_MAX = 4 << 20,
    KEEP_PARTS = 32, /* of a file of which only the last part is kept */
    FRESH_STREAMS_A_MS = 2,
    FRESH_STREAM_BYTES = 2048,
    LATE_NAPS = 20, /* for a thread that is between filling a chunk and putting it into the list */
    LATE_NAP_NS = 100000,
    WORKERS_MAX = 4,     /* more than the program can feed */
    THREADS_TOLD = 50000 /* threads whose names are written */
};

struct recorder {
    struct ring *ring;
    struct sink sink;
    struct places places;
    struct clock clock;
    struct pool *pool;
    struct tail *tail; /* NULL: all is kept */
    struct reply *reply;
    struct control control;
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    uint32_t flush;      /* request to bring the file up to date, that is to be answered; 0: none */
    bool flush_begun;    /* ... and is under way */
    uint32_t *numbers;   /* of collected chunks */
    uint64_t faults;     /* lists of chunks that were none */
    int pidfd;
    bool gone; /* atomic: set by the watcher */
    pthread_t watcher;
    bool watched; /* there is a watcher */
    enum process_end end;
    uint64_t began_ms, fresh_ms; /* when it began, and was last brought up to date */
    unsigned fresh_streams;      /* that had something to tell then */
    bool stop_told;              /* the file says why it ends */
};

static uint64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- the process ---- */

/* The state of a process as /proc/PID/stat has it ('R', 'Z' ...), 0 where there is none; `text`
 * is the whole. */
static char process_state(uint32_t pid, char *text, size_t bytes)
{
    char path[64], state = 0, *name_end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, bytes - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    name_end = strrchr(text, ')');
    return name_end && sscanf(name_end + 1, " %c", &state) == 1 ? state : 0;
}

static bool is_dead(char state)
{
    return state == 0 || state == 'Z' || state == 'X';
}

/* Without process file descriptors (before Linux 5.3, or forbidden): look again and again. A dead
 * main thread may leave others, so as long as the process exists its memory is asked, too. */
static void wait_by_looking(const struct recorder *r)
{
    const struct timespec nap = { 0, WAIT_MS * 1000000L };
    char text[2048];

    while (kill((pid_t)r->ring->pid, 0) == 0 || errno != ESRCH) {
        if (is_dead(process_state(r->ring->pid, text, sizeof(text))) && !ring_is_mapped(r->ring))
            return;
        nanosleep(&nap, NULL);
    }
}

static void *recorder_watch(void *arg)
{
    struct recorder *r = arg;
    struct pollfd p = { .fd = r->pidfd, .events = POLLIN };

    if (r->pidfd < 0)
        wait_by_looking(r);
    else
        while (poll(&p, 1, -1) < 0 && errno == EINTR)
            ;
    __atomic_store_n(&r->gone, true, __ATOMIC_SEQ_CST);
    ring_wake_self(r->ring);
    return NULL;
}

/* <linux/pidfd.h> of Linux 6.15: how a process ended, also when somebody has waited for it. */
struct exit_info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define EXIT_INFO        _IOWR(0xff, 11, struct exit_info)
#define EXIT_INFO_STATUS (UINT64_C(1) << 3)

/* Known to the process file descriptor from when somebody has waited for the process. */
static bool status_of_waited(const struct recorder *r, int *status)
{
    struct exit_info info = { .mask = EXIT_INFO_STATUS };

    if (r->pidfd < 0 || ioctl(r->pidfd, EXIT_INFO, &info) < 0 || !(info.mask & EXIT_INFO_STATUS))
        return false;
    *status = info.exit_code;
    return true;
}

/* May we not see what the process does? It has other rights than we: a daemon that gave some up. */
static bool is_hidden(uint32_t pid)
{
    char path[64], name[64];

    snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
    return readlink(path, name, sizeof(name)) < 0 && errno == EACCES;
}

/* And until then it is field 52 of /proc/PID/stat, which is 0 for those who may not see it. */
static bool status_of_dead(const struct recorder *r, int *status)
{
    char text[2048], state = process_state(r->ring->pid, text, sizeof(text)), *at;

    at = state && is_dead(state) ? strrchr(text, ' ') : NULL;
    *status = at ? atoi(at + 1) : 0;
    return at && (*status || !is_hidden(r->ring->pid));
}

/* The status as wait() has it, where the system still knows. Somebody may wait for the process
 * between the first two looks, so there is a third. */
static bool read_status(const struct recorder *r, int *status)
{
    return status_of_waited(r, status) || status_of_dead(r, status) || status_of_waited(r, status);
}

static void find_status(struct recorder *r)
{
    struct process *p = &r->sink.tables.process;
    int status;

    if (!read_status(r, &status))
        return;
    r->end = WIFSIGNALED(status) ? PROCESS_KILLED : PROCESS_EXITED;
    p->numbers[PROCESS_STATUS] =
        (uint64_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static bool is_gone(struct recorder *r)
{
    if (__atomic_load_n(&r->gone, __ATOMIC_SEQ_CST)) {
        r->end = PROCESS_GONE;
        find_status(r);
        return true;
    }
    return false;
}

/* It execs: the memory is gone from its mappings, and so is everything that wrote to it. */
static bool has_execed(struct recorder *r)
{
    if (ring_is_mapped(r->ring))
        return false;
    r->end = PROCESS_EXECED;
    return true;
}

static int watch_process(struct recorder *r, struct error *err)
{
    r->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)r->ring->pid, 0);
    if (r->pidfd < 0 && errno == ESRCH) {
        r->gone = true; /* already: there may be something to write all the same */
        return 0;
    }
    if (pthread_create(&r->watcher, NULL, recorder_watch, r) != 0)
        return error_set(err, "cannot start a thread");
    r->watched = true;
    return 0;
}

/* ---- what is told about it ---- */

static void note_start(struct recorder *r)
{
    const struct ring_header *h = r->ring->header;
    struct process *p = &r->sink.tables.process;
    struct timespec real, mono;
    uint64_t real_ns, mono_ns;

    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    mono_ns = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec;
    p->known = true;
    p->numbers[PROCESS_PID] = r->ring->pid;
    p->numbers[PROCESS_MODE] = h->mode;
    p->numbers[PROCESS_FILTER] = h->filter;
    p->numbers[PROCESS_FORKED] = h->forked;
    p->numbers[PROCESS_START_NS] = real_ns;
    p->numbers[PROCESS_CLOCK_NS] = mono_ns;
}

static void note_threads(struct recorder *r)
{
    uint32_t n = r->sink.tables.threads.count;

    for (uint32_t i = 0; i < n && i < THREADS_TOLD; i++) {
        struct ring_thread t;

        if (ring_thread(r->ring, i, &t))
            process_add_thread(&r->sink.tables.process, i, t.tid, t.reserved[0], t.name,
                               strlen(t.name));
    }
}

/* Threads that were cut off when another one ended the program. */
static void note_cut_off(struct recorder *r)
{
    uint32_t n = r->ring->header->threads, running = 0;
    bool exits = false;

    for (uint32_t i = 0; i < n && i < RING_THREADS_MAX; i++) {
        struct ring_thread t;

        (void)ring_thread(r->ring, i, &t); /* one that has not begun is cut off as well */
        if (t.state == THREAD_ENDED)
            continue;
        exits |= (t.reserved[1] & RING_EXITS) != 0;
        running += !(t.reserved[1] & (RING_EXITS | RING_FIBER | RING_HIDDEN));
    }
    if (exits && running)
        sink_note(&r->sink, "%u thread%s still running when the program ended", running,
                  running == 1 ? " was" : "s were");
}

static void note_end(struct recorder *r, const struct pool_counts *c)
{
    const struct ring_header *h = r->ring->header;
    uint64_t *n = r->sink.tables.process.numbers;

    n[PROCESS_END] = r->end;
    n[PROCESS_MODE] = h->mode;
    n[PROCESS_LOST] = c->lost > h->lost ? c->lost : h->lost;
    n[PROCESS_FILTERED] = h->filtered;
    n[PROCESS_LATE] = h->late;
    n[PROCESS_IGNORED] = h->ignored;
    n[PROCESS_OVERRUNS] = h->overruns;
    n[PROCESS_MODULES_LOST] = h->dropped_log;
    n[PROCESS_DAMAGED] = c->damaged + r->faults;
    n[PROCESS_DROPPED] = c->dropped;
    if (r->faults)
        sink_note(&r->sink, "the list of full buffers was damaged");
    note_cut_off(r);
    note_threads(r);
}

/* ---- the loop ---- */

/* Chunks that are full now; how many. */
static size_t recorder_collect(struct recorder *r)
{
    size_t n = ring_collect(r->ring, r->numbers, &r->faults);

    if (n)
        pool_add(r->pool, r->numbers, n);
    return n;
}

static uint64_t between(uint64_t low, uint64_t n, uint64_t high)
{
    return n < low ? low : n < high ? n : high;
}

/* How long until the file is to be brought up to date, if it does not grow. */
static uint64_t fresh_in_ms(const struct recorder *r, uint64_t now)
{
    uint64_t interval = between(FRESH_MS_MIN, (now - r->began_ms) / FRESH_PART, FRESH_MS_MAX);
    uint64_t least = r->fresh_streams / FRESH_STREAMS_A_MS, passed = now - r->fresh_ms;

    interval = interval < least ? least : interval;
    return passed < interval ? interval - passed : 0;
}

/* How large the file may become before that: an eighth more of what it has, or may have; with many
 * streams that takes more. */
static uint64_t fresh_at_bytes(const struct recorder *r, uint64_t bytes)
{
    uint64_t keep = r->sink.keep_bytes, limit = r->sink.max_bytes ? r->sink.max_bytes : keep;
    uint64_t low =
        limit && limit / FRESH_PART < FRESH_BYTES_MIN ? limit / FRESH_PART : FRESH_BYTES_MIN;
    uint64_t most =
        keep && keep / KEEP_PARTS < FRESH_BYTES_MAX ? keep / KEEP_PARTS : FRESH_BYTES_MAX;
    uint64_t much = between(low, bytes / FRESH_PART, most);
    uint64_t least = (uint64_t)r->fresh_streams * FRESH_STREAM_BYTES;

    return bytes + (much < least ? least : much);
}

/* What is being filled, and then everything that was full before: no thread is left behind, not
 * even one that is just about to hand a chunk over. */
static void recorder_look(struct recorder *r)
{
    const struct timespec nap = { 0, LATE_NAP_NS };

    pool_look(r->pool);
    recorder_collect(r);
    for (int i = 0; i < LATE_NAPS && ring_has_full(r->ring); i++)
        if (!recorder_collect(r))
            nanosleep(&nap, NULL);
    if (ring_has_full(r->ring))
        pool_doubt(r->pool);
}

/* Bring the file up to date where that is due, or nothing more is recorded. */
static void freshen(struct recorder *r)
{
    uint64_t now = clock_ms();
    bool stopped = sink_is_stopped(&r->sink) && !r->stop_told;

    bool asked = r->flush && !r->flush_begun;

    if (!stopped && !asked && r->fresh_streams && fresh_in_ms(r, now) && !pool_is_due(r->pool))
        return;
    if (stopped)
        pool_wait(r->pool);
    else if (!pool_is_settled(r->pool))
        return;
    recorder_look(r);
    r->fresh_streams = pool_checkpoint(r->pool, fresh_at_bytes(r, sink_bytes(&r->sink)));
    r->fresh_ms = now;
    r->flush_begun = r->flush_begun || asked;
    if (stopped) {
        r->stop_told = true;
        pool_wait(r->pool);
        sink_tell_process(&r->sink);
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void recorder_answer(struct recorder *r, uint32_t serial, bool refused)
{
    struct control_reply reply = { .refused = refused,
                                   .stopped = ring_is_paused(r->ring),
                                   .began_ns = r->started_ns,
                                   .now_ns = now_ns(),
                                   .lost = r->ring->header->lost };

    pthread_mutex_lock(&r->sink.lock);
    reply.written = hdl_bytes(r->sink.hdl);
    reply.kept = r->tail ? hdl_kept(r->sink.hdl) : reply.written;
    reply.first_ns = r->tail ? hdl_stamp_first(r->sink.hdl) : r->started_ns;
    pthread_mutex_unlock(&r->sink.lock);
    control_answer(&r->control, &reply, serial);
}

static void note_stopped(struct recorder *r)
{
    pthread_mutex_lock(&r->sink.lock);
    sink_note(&r->sink, "%s", PROCESS_PAUSED);
    pthread_mutex_unlock(&r->sink.lock);
}

/* Who follows the file needs to know how far it is complete. In a full build the order of the file
 * is found out by values, in the end. */
static void tell_complete(struct recorder *r)
{
    bool full = r->ring->header->mode == RING_MODE_FULL;

    control_tell(&r->control, full ? CONTROL_NEVER : pool_complete(r->pool));
}

/* What somebody asks for (heddle ctl). */
static void serve(struct recorder *r)
{
    struct control_request q;
    bool done = true;

    tell_complete(r);
    if (r->flush && r->flush_begun && pool_is_settled(r->pool)) {
        recorder_answer(r, r->flush, false);
        r->flush = 0;
    }
    if (r->flush || !control_poll(&r->control, &q))
        return;
    if (q.command == CONTROL_FLUSH) {
        r->flush = q.serial;
        r->flush_begun = false;
        return;
    }
    if (q.command == CONTROL_STOP || q.command == CONTROL_START)
        done = ring_pause(r->ring, q.command == CONTROL_STOP);
    if (done && q.command == CONTROL_STOP)
        note_stopped(r);
    recorder_answer(r, q.serial, !done);
}

/* What is older than is wanted goes. */
static void move_tail(struct recorder *r)
{
    if (r->tail)
        tail_move(r->tail, now_ns());
}

static void recorder_record(struct recorder *r)
{
    uint64_t looked = clock_ms();

    r->began_ms = r->fresh_ms = looked;

    while (!is_gone(r)) {
        uint32_t seen = __atomic_load_n(&r->ring->header->wake_writer, __ATOMIC_SEQ_CST);
        uint64_t now;

        clock_tick(&r->clock);
        serve(r);
        freshen(r);
        move_tail(r);
        if (recorder_collect(r) | pool_work(r->pool))
            continue;
        now = clock_ms();
        if (__atomic_load_n(&r->ring->header->exec, __ATOMIC_RELAXED) || now - looked >= LOOK_MS) {
            if (has_execed(r))
                return;
            places_read_log(&r->places);
            looked = now;
        }
        pool_flush_idle(r->pool, IDLE_MS);
        ring_wait(r->ring, seen, (unsigned)between(1, fresh_in_ms(r, clock_ms()), WAIT_MS));
    }
}

static void drain(struct recorder *r)
{
    struct pool_counts counts;
    size_t n;

    do {
        freshen(r);
        move_tail(r);
    } while (recorder_collect(r) | pool_work(r->pool));
    pool_wait(r->pool);
    n = ring_collect_rest(r->ring, r->numbers);
    pool_add(r->pool, r->numbers, n);
    pool_finish(r->pool, &counts);
    places_read_log(&r->places);
    note_end(r, &counts);
}

/* ---- life cycle ---- */

static int recorder_start(struct recorder *r, const struct recorder_options *o, struct error *err)
{
    const struct ring_header *h = r->ring->header;
    unsigned workers = o->workers ? o->workers : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

    if (workers > WORKERS_MAX)
        workers = WORKERS_MAX;
    if (sink_open(&r->sink, r->ring, &o->sink, err) < 0)
        return -1;
    note_start(r);
    if (watch_process(r, err) < 0 || hdl_write_process(r->sink.hdl, err) < 0) {
        hdl_abort(r->sink.hdl);
        tables_release(&r->sink.tables);
        return -1;
    }
    clock_init(&r->clock, h->tsc_start, h->ns_start);
    places_init(&r->places, &r->sink, r->ring);
    r->numbers = xcalloc(r->ring->chunks_max, sizeof(*r->numbers));
    r->pool = pool_new(r->ring, &r->sink, &r->places, &r->clock, workers ? workers : 1,
                       o->sink.compression, o->sink.level);
    r->started_ns = now_ns();
    if (o->stopped && ring_pause(r->ring, true))
        note_stopped(r);
    control_open(&r->control, r->sink.path);
    r->tail = tail_new(&r->sink, h->mode != RING_MODE_FULL);
    return 0;
}

static int recorder_finish(struct recorder *r, struct error *err)
{
    int result;

    control_close(&r->control);
    pool_free(r->pool);
    tail_free(r->tail);
    result = sink_close(&r->sink, err);
    places_release(&r->places);
    free(r->numbers);
    return result;
}

/* Ready, or failed. Who waits for us to say so hears it by the descriptor, too. */
static void tell_begin(struct ring *ring, const struct recorder_options *o, enum ring_writer state)
{
    ring_tell(ring, state);
    if (o->told)
        close(o->told);
}

int recorder_run(struct ring *ring, const struct recorder_options *options, struct error *err)
{
    struct recorder r = { .ring = ring, .pidfd = -1 };
    int result;

    if (recorder_start(&r, options, err) < 0) {
        tell_begin(ring, options, WRITER_FAILED);
        return -1;
    }
    r.reply = reply_start(ring);
    tell_begin(ring, options, WRITER_READY);
    recorder_record(&r);
    reply_stop(r.reply);
    drain(&r);
    result = recorder_finish(&r, err);
    ring_tell(ring, WRITER_DONE);
    if (r.watched) { /* where the process lives on as another program, the watcher still waits */
        pthread_cancel(r.watcher);
        pthread_join(r.watcher, NULL);
    }
    if (r.pidfd >= 0)
        close(r.pidfd);
    return result;
}
