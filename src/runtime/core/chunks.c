/* chunks.c - the shared memory, its chunks, and the writer that empties them
 *
 * Chunks go round: free list -> a thread -> full list -> writer -> free list.
 * Both lists are lock-free stacks, so a thread that is killed in between
 * blocks nobody. When more than queue_max chunks wait for the writer, threads
 * wait for it, a tenth of a second at a time, and look whether it is alive.
 *
 * The writer is started with raw clone and without an exit signal: the program
 * can neither wait for it nor get a SIGCHLD. It daemonises itself at once.
 */
#include "runtime/core/benign.h"
#include "runtime/core/state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where full builds append while nothing is recorded: always full, so that each append asks for
 * room first and finds the cursor at the start. Large, because threads may do so at once. */
static struct {
    struct ring_chunk chunk;
    char space[1 << 20];
} nowhere = { .chunk = { .cursor = RING_CHUNK_HEADER, .limit = RING_CHUNK_HEADER } };

static struct heddle_filter no_filter;
static struct heddle_frame no_shadow[SHADOW_MASK + 1];

/* A thread that has no state yet: nothing matches in its filter, its frames go nowhere. */
_Thread_local struct heddle_tls __heddle_tls = {
    .filter = &no_filter,
    .epoch = UINT64_C(1) << FILTER_EPOCH_SHIFT,
    .shadow = no_shadow,
    .chunk = &nowhere.chunk,
    .unit_mask = FILTER_UNITS_MASK(FILTER_UNITS_FIRST),
    .line_mask = FILTER_LINES_MASK(FILTER_LINES_FIRST),
};

void ring_reset_thread(void)
{
    nowhere.chunk.cursor = RING_CHUNK_HEADER;
    tls.chunk = &nowhere.chunk;
}

void thread_reset_tls(bool keep_frames)
{
    tls.filter = &no_filter;
    tls.epoch = UINT64_C(1) << FILTER_EPOCH_SHIFT;
    if (!keep_frames)
        tls.shadow = no_shadow;
    if (tls.self)
        tls.self->idle = NULL;
    tls.self = NULL;
    ring_reset_thread();
}

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    int saved = errno; /* of the host, in the middle of any of its accesses */
    long r = syscall(SYS_futex, word, op, value, timeout, NULL, 0L);

    errno = saved;
    return r;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- lists ---- */

static struct ring_chunk *chunk_at(uint32_t number)
{
    return (struct ring_chunk *)(rt.ring_base + RING_CHUNKS_OFFSET +
                                 (uint64_t)number * RING_CHUNK_BYTES);
}

static void ring_push(uint64_t *head, struct ring_chunk *c)
{
    uint64_t old = __atomic_load_n(head, __ATOMIC_RELAXED), new;

    do {
        c->next = (uint32_t)old;
        new = ((old >> 32) + 1) << 32 | (c->number + 1);
    } while (
        !__atomic_compare_exchange_n(head, &old, new, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct ring_chunk *pop(uint64_t *head)
{
    uint64_t old = __atomic_load_n(head, __ATOMIC_ACQUIRE), new;
    struct ring_chunk *c;

    do {
        uint32_t number = (uint32_t)old;

        if (!number || number > rt.ring->chunks_max)
            return NULL;
        c = chunk_at(number - 1);
        new = ((old >> 32) + 1) << 32 | c->next;
    } while (
        !__atomic_compare_exchange_n(head, &old, new, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    return c;
}

/* ---- chunks ---- */

/* A chunk that was never used. */
static struct ring_chunk *new_chunk(void)
{
    uint32_t n = __atomic_load_n(&rt.ring->chunks, __ATOMIC_RELAXED);
    struct ring_chunk *c;

    do
        if (n >= rt.ring->chunks_max)
            return NULL;
    while (!__atomic_compare_exchange_n(&rt.ring->chunks, &n, n + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    c = chunk_at(n);
    c->number = n;
    return c;
}

static bool writer_is_alive(void)
{
    int saved = errno;
    bool alive = __atomic_load_n(&rt.ring->writer_state, __ATOMIC_ACQUIRE) == WRITER_READY &&
                 (syscall(SYS_kill, rt.ring->writer_pid, 0) == 0 || errno != ESRCH);

    errno = saved;
    return alive;
}

/* In a sandbox nobody can be asked whether the writer is there: it is gone when it has taken
 * nothing for so long, which is more than any busy machine needs. */
static bool writer_moves(void)
{
    enum { PATIENCE_S = 60 };
    static uint64_t taken, since_ns;
    uint64_t now = now_ns(), head = __atomic_load_n(&rt.ring->free_head, __ATOMIC_RELAXED);
    uint64_t since;

    if (__atomic_exchange_n(&taken, head, __ATOMIC_RELAXED) != head || !since_ns)
        __atomic_store_n(&since_ns, now, __ATOMIC_RELAXED);
    since = __atomic_load_n(&since_ns, __ATOMIC_RELAXED);
    return now <= since || /* another thread has looked at the clock later */
           now - since < UINT64_C(1000000000) * PATIENCE_S;
}

/* The writer has too much to do: let it. False when it is gone. */
static bool wait_for_writer(void)
{
    const struct timespec tenth = { 0, 100000000 };
    uint32_t seen = __atomic_load_n(&rt.ring->wake_threads, __ATOMIC_ACQUIRE);

    __atomic_fetch_add(&rt.ring->waiting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&rt.ring->queued, __ATOMIC_SEQ_CST) >= rt.ring->queue_max)
        futex(&rt.ring->wake_threads, FUTEX_WAIT, seen, &tenth);
    __atomic_fetch_sub(&rt.ring->waiting, 1, __ATOMIC_SEQ_CST);
    return !rt.ring->stop && writer_is_alive() && (likely(!rt_sandbox) || writer_moves());
}

struct ring_chunk *ring_take_chunk(struct rt_thread *t, bool must)
{
    struct ring_header *r = rt.ring;
    struct ring_chunk *c;

    if (r->stop) { /* the writer says why */
        rt_stop(NULL);
        return NULL;
    }
    for (;;) {
        if (__atomic_load_n(&r->queued, __ATOMIC_RELAXED) < r->queue_max &&
            ((c = pop(&r->free_head)) || (c = new_chunk())))
            break;
        if (r->lose && !must)
            return NULL;
        if (!wait_for_writer()) {
            rt_stop(r->stop ? NULL : "the writer is gone");
            return NULL;
        }
    }
    c->cursor = RING_CHUNK_HEADER;
    c->limit = RING_CHUNK_BYTES - RING_SLACK;
    c->thread = t->number;
    c->serial = t->serial++;
    c->insert_serial = c->insert_at = 0;
    c->tsc_start = clock_stamp();
    c->ns_start = now_ns();
    __atomic_store_n(&c->state, CHUNK_FILLING, __ATOMIC_RELEASE);
    return c;
}

void ring_hand_over(struct ring_chunk *c)
{
    struct ring_header *r = rt.ring;

    if (c == &nowhere.chunk)
        return;
    if (tls.self && tls.self->idle && tls.self->idle != c) { /* may belong into it */
        struct ring_chunk *idle = tls.self->idle;

        tls.self->idle = NULL;
        ring_hand_over(idle);
    }
    __atomic_store_n(&c->state, CHUNK_FULL, __ATOMIC_RELEASE);
    __atomic_fetch_add(&r->queued, 1, __ATOMIC_SEQ_CST);
    ring_push(&r->full_head, c);
    /* The writer looks by itself ten times a second; wake it when there is work for it. */
    if (__atomic_add_fetch(&r->wake_writer, 1, __ATOMIC_SEQ_CST) % 8 == 0)
        futex(&r->wake_writer, FUTEX_WAKE, 1, NULL);
}

bool ring_next_chunk(struct rt_thread *t, bool must)
{
    struct ring_chunk *old = tls.chunk, *c;
    uint32_t insert_serial = old->insert_serial, insert_at = old->insert_at;
    uint32_t handler_depth = old->handler_depth;

    if (rt.mode != MODE_ON)
        return false;
    if (old != &nowhere.chunk) {
        /* nothing may be appended to it any more, also when there is no other */
        ring_reset_thread();
        ring_hand_over(old);
    }
    c = ring_take_chunk(t, must);
    if (!c)
        return false;
    memset(t->runs, 0, sizeof(t->runs));
    if (old != &nowhere.chunk) { /* a handler's chunks all belong at its place */
        c->insert_serial = insert_serial;
        c->insert_at = insert_at;
        c->handler_depth = handler_depth;
    }
    tls.chunk = c;
    return true;
}

/* ---- questions ---- */

bool ring_ask_effects(uint32_t number, unsigned tenths)
{
    const struct timespec tenth = { 0, 100000000 };
    struct ring_header *r = rt.ring;

    __atomic_store_n(&r->effects_wanted, number, __ATOMIC_SEQ_CST);
    futex(&r->effects_wanted, FUTEX_WAKE, INT32_MAX, NULL);
    for (unsigned i = 0; i < tenths; i++) {
        uint32_t done = __atomic_load_n(&r->effects_done, __ATOMIC_ACQUIRE);

        if (done == number)
            return true;
        if (likely(!rt_sandbox) && !writer_is_alive())
            return false;
        futex(&r->effects_done, FUTEX_WAIT, done, &tenth);
    }
    return false;
}

/* ---- the log ---- */

void ring_log(uint32_t kind, const void *head, size_t head_bytes, const char *text,
              size_t text_bytes)
{
    struct ring_header *r = rt.ring;
    size_t bytes = (sizeof(struct log_entry) + head_bytes + text_bytes + 7) & ~(size_t)7;
    struct log_entry *e;

    if (!r)
        return;
    spin_lock(&r->log_lock);
    if (r->log_used + bytes <= RING_LOG_BYTES) {
        e = (struct log_entry *)(rt.ring_base + RING_LOG_OFFSET + r->log_used);
        e->kind = kind;
        e->bytes = (uint32_t)bytes;
        memcpy(e + 1, head, head_bytes);
        memcpy((char *)(e + 1) + head_bytes, text, text_bytes);
        __atomic_store_n(&r->log_used, r->log_used + bytes, __ATOMIC_RELEASE);
    } else {
        r->dropped_log++;
    }
    spin_unlock(&r->log_lock);
}

/* ---- the writer ---- */

struct spawn {
    int fd;
    char **argv, **envp;
};

/* Runs in the program's memory (CLONE_VM) until it execs: system calls only. */
static int writer_child(void *arg)
{
    struct spawn *s = arg;
    sigset_t none;

    sigemptyset(&none);
    if (s->fd == 3)
        fcntl(3, F_SETFD, 0);
    else
        dup3(s->fd, 3, 0);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
    execve(s->argv[0], s->argv, s->envp);
    _exit(127);
}

/* The environment without what is meant for the program alone. */
static char **writer_environment(char **space, size_t n)
{
    size_t used = 0;
    char **e;

    for (e = environ; e && *e && used + 1 < n; e++)
        if (strncmp(*e, "LD_", 3) && strncmp(*e, "HEDDLE_", 7) && strncmp(*e, "MALLOC_", 7) &&
            strncmp(*e, "GLIBC_", 6))
            space[used++] = *e;
    space[used] = NULL;
    return space;
}

static bool start_writer(int fd)
{
    static char stack[16384] __attribute__((aligned(64)));
    static char *envp[512];
    static char options[sizeof(rt_options.writer_options)];
    char *argv[16], *at = options, *option;
    struct spawn s = { .fd = fd, .argv = argv };
    int n = 0, pid, status = 0;
    sigset_t all, old;

    memcpy(options, rt_options.writer_options, sizeof(options));
    argv[n++] = rt_options.writer;
    argv[n++] = "writer";
    argv[n++] = "--fd=3";
    argv[n++] = "--dir";
    argv[n++] = rt_options.directory;
    if (rt_options.run[0]) {
        argv[n++] = "--run";
        argv[n++] = rt_options.run;
    }
    while ((option = strsep(&at, " ")) && n < 15)
        if (*option)
            argv[n++] = option;
    argv[n] = NULL;
    s.envp = writer_environment(envp, 512);
    sigfillset(&all);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
    pid = clone(writer_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, &s);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
    if (pid < 0)
        return false;
    while (syscall(SYS_wait4, pid, &status, __WCLONE | __WALL, NULL) < 0 && errno == EINTR)
        ;
    /* Not so where it cannot be executed (from inside of a chroot, say), failed, or was killed. */
    return status == 0 && __atomic_load_n(&rt.ring->writer_state, __ATOMIC_ACQUIRE) == WRITER_READY;
}

/* ---- life cycle ---- */

/* What a limit of the address space leaves for us: about a quarter, the rest is the program's. */
static uint64_t space_for(uint64_t least)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit))
        return RING_BYTES;
    if (limit.rlim_cur < RING_SPACE_LEAST)
        return 0;
    return limit.rlim_cur / 4 < least ? least : limit.rlim_cur / 4 & ~(uint64_t)0xfff;
}

static bool map_ring(int fd)
{
    uint64_t bytes = RING_BYTES, least = RING_BYTES_LEAST, space = space_for(least);
    struct rlimit limit;
    void *m;

    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur & ~(uint64_t)0xfff;
    bytes = space < bytes ? space : bytes;
    for (; bytes >= least; bytes = least + (bytes - least) / 2 - 4096) {
        if (ftruncate(fd, (off_t)bytes))
            return false;
        m = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, fd, 0L);
        if (m != MAP_FAILED) {
            syscall(SYS_madvise, m, bytes, MADV_DONTDUMP);
            rt.ring_base = m;
            rt.ring = m;
            rt.ring->bytes = bytes;
            return true;
        }
        if (bytes < least + 8192)
            break;
    }
    return false;
}

/* What comes while the writer sleeps or compresses; more costs memory and cache, and brings little:
 * 8 make leveldb 8 % faster, and 6 MB bigger. */
enum { QUEUE_MIB = 4 };

static void fill_header(void)
{
    struct ring_header *r = rt.ring;
    uint32_t mib = rt_options.max_memory_mib;

    r->magic = RING_MAGIC;
    r->version = RING_VERSION;
    r->pid = (uint32_t)syscall(SYS_getpid);
    r->mode = rt.full ? RING_MODE_FULL : RING_MODE_RECORD;
    r->chunks_max = (uint32_t)((r->bytes - RING_CHUNKS_OFFSET) / RING_CHUNK_BYTES);
    r->queue_max = (mib ? mib : QUEUE_MIB) * (uint32_t)((1 << 20) / RING_CHUNK_BYTES);
    r->lose = rt_options.lose;
    r->forked = rt.forked;
    r->filter = rt_options.filter;
    r->tsc_start = clock_stamp();
    r->ns_start = now_ns();
    if (rt.full)
        benign_tell(r);
}

bool ring_open(void)
{
    int fd = (int)syscall(SYS_memfd_create, "heddle", 1u /* MFD_CLOEXEC */);
    bool ok;

    if (fd < 0)
        return false;
    ok = map_ring(fd);
    if (ok) {
        fill_header();
        ok = start_writer(fd);
    }
    syscall(SYS_close, fd);
    if (!ok)
        ring_close();
    return ok;
}

/* A handler that forks may have interrupted an inline append, which goes on in the child: then
 * there is still memory behind its pointer, that nobody reads. */
void ring_close(void)
{
    if (rt.ring && rt.full && handlers_run())
        syscall(SYS_mmap, rt.ring_base, rt.ring->bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1L, 0L);
    else if (rt.ring)
        syscall(SYS_munmap, rt.ring_base, rt.ring->bytes);
    rt.ring = NULL;
    rt.ring_base = NULL;
}
