/* ring_tools.h - a recorded process for tests: fills chunks as the runtime does (abi/rt_ring.h)
 *
 * mock_new() makes the shared memory; fork() gives a process that fills it, and the test's own
 * process is the writer. One struct mock_thread per recorded thread.
 */
#ifndef HEDDLE_TESTS_RING_TOOLS_H
#define HEDDLE_TESTS_RING_TOOLS_H

#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "abi/rt_ring.h"
#include "abi/rt_stripe.h"
#include "trace/event.h"

struct mock {
    int fd;
    char *base;
    struct ring_header *h;
    uint64_t *counters; /* stripes, in shared memory of their own */
};

struct mock_thread {
    struct mock *m;
    struct ring_chunk *chunk;
    uint32_t thread, serial;
};

static inline struct ring_chunk *mock_chunk_at(const struct mock *m, uint32_t n)
{
    return (struct ring_chunk *)(m->base + RING_CHUNKS_OFFSET + (uint64_t)n * RING_CHUNK_BYTES);
}

static inline void mock_new(struct mock *m, uint32_t queue_max)
{
    struct timespec t;

    m->fd = memfd_create("heddle", MFD_CLOEXEC);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)RING_BYTES) < 0)
        _exit(99);
    m->base = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, m->fd, 0);
    m->counters =
        mmap(NULL, RING_STRIPES * 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m->base == MAP_FAILED || m->counters == MAP_FAILED)
        _exit(99);
    m->h = (struct ring_header *)m->base;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *m->h =
        (struct ring_header){ .magic = RING_MAGIC,
                              .version = RING_VERSION,
                              .pid = (uint32_t)getpid(),
                              .bytes = RING_BYTES,
                              .mode = RING_MODE_RECORD,
                              .chunks_max = RING_CHUNKS_MAX,
                              .queue_max = queue_max,
                              .tsc_start = __rdtsc() >> RING_STAMP_SHIFT,
                              .ns_start = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec };
}

static inline void mock_free(struct mock *m)
{
    munmap(m->base, RING_BYTES);
    munmap(m->counters, RING_STRIPES * 8);
    close(m->fd);
}

static inline long mock_futex(uint32_t *word, int op, uint32_t value, const struct timespec *t)
{
    return syscall(SYS_futex, word, op, value, t, NULL, 0);
}

/* In the recorded process: until the writer is there. */
static inline void mock_wait_ready(struct mock *m)
{
    while (m->h->writer_state == WRITER_STARTING)
        mock_futex(&m->h->writer_state, FUTEX_WAIT, WRITER_STARTING, NULL);
}

static inline void mock_push(uint64_t *head, struct ring_chunk *c)
{
    uint64_t old = __atomic_load_n(head, __ATOMIC_RELAXED);

    do
        c->next = (uint32_t)old;
    while (!__atomic_compare_exchange_n(head, &old, ((old >> 32) + 1) << 32 | (c->number + 1), true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static inline struct ring_chunk *mock_pop(struct mock *m)
{
    uint64_t *head = &m->h->free_head, old = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    struct ring_chunk *c;

    do {
        if (!(uint32_t)old)
            return NULL;
        c = mock_chunk_at(m, (uint32_t)old - 1);
    } while (!__atomic_compare_exchange_n(head, &old, ((old >> 32) + 1) << 32 | c->next, true,
                                          __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    return c;
}

static inline void mock_hand_over(struct mock_thread *t)
{
    struct ring_header *h = t->m->h;

    if (!t->chunk)
        return;
    __atomic_store_n(&t->chunk->state, CHUNK_FULL, __ATOMIC_RELEASE);
    __atomic_fetch_add(&h->queued, 1, __ATOMIC_SEQ_CST);
    mock_push(&h->full_head, t->chunk);
    t->chunk = NULL;
    if (__atomic_add_fetch(&h->wake_writer, 1, __ATOMIC_SEQ_CST) % 8 == 0)
        mock_futex(&h->wake_writer, FUTEX_WAKE, 1, NULL);
}

static inline void mock_take_chunk(struct mock_thread *t)
{
    const struct timespec tenth = { 0, 100000000 };
    struct ring_header *h = t->m->h;
    struct ring_chunk *c = NULL;
    struct timespec now;

    for (;;) {
        uint32_t seen = h->wake_threads;

        if (__atomic_load_n(&h->queued, __ATOMIC_RELAXED) < h->queue_max) {
            c = mock_pop(t->m);
            if (!c) {
                uint32_t n = __atomic_fetch_add(&h->chunks, 1, __ATOMIC_SEQ_CST);

                c = mock_chunk_at(t->m, n);
                c->number = n;
            }
            break;
        }
        __atomic_fetch_add(&h->waiting, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&h->queued, __ATOMIC_RELAXED) >= h->queue_max)
            mock_futex(&h->wake_threads, FUTEX_WAIT, seen, &tenth);
        __atomic_fetch_sub(&h->waiting, 1, __ATOMIC_SEQ_CST);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    c->cursor = RING_CHUNK_HEADER;
    c->limit = RING_CHUNK_BYTES - RING_SLACK;
    c->thread = t->thread;
    c->serial = t->serial++;
    c->insert_serial = c->insert_at = 0;
    c->tsc_start = __rdtsc() >> RING_STAMP_SHIFT;
    c->ns_start = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    __atomic_store_n(&c->state, CHUNK_FILLING, __ATOMIC_RELEASE);
    t->chunk = c;
}

/* Append a record of n words. */
static inline void mock_add(struct mock_thread *t, int n, ...)
{
    uint64_t *w;
    va_list ap;

    if (t->chunk && t->chunk->cursor > t->chunk->limit)
        mock_hand_over(t);
    if (!t->chunk)
        mock_take_chunk(t);
    w = (uint64_t *)((char *)t->chunk + t->chunk->cursor);
    va_start(ap, n);
    for (int i = 0; i < n; i++)
        w[i] = va_arg(ap, uint64_t);
    va_end(ap);
    __atomic_store_n(&t->chunk->cursor, t->chunk->cursor + 8 * (uint64_t)n, __ATOMIC_RELEASE);
}

static inline void mock_access(struct mock_thread *t, bool write, uint64_t address, unsigned log,
                               uint32_t site)
{
    mock_add(t, 2, RING_WORD(R_ACCESS, (unsigned)write | log << ACCESS_SIZE_SHIFT, address),
             (uint64_t)site);
}

static inline void mock_stamp(struct mock_thread *t)
{
    mock_add(t, 1, RING_WORD(R_STAMP, 0, __rdtsc() >> RING_STAMP_SHIFT));
}

static inline uint64_t mock_number(struct mock *m, unsigned op, uint64_t target)
{
    uint32_t stripe = ring_stripe(ring_class(op), target);

    return __atomic_add_fetch(&m->counters[stripe], 1, __ATOMIC_SEQ_CST);
}

/* begin and end count on their own thread. */
static inline void mock_sync(struct mock_thread *t, unsigned op, uint64_t target, uint64_t where)
{
    bool own = op == OP_BEGIN || op == OP_END;

    mock_stamp(t);
    mock_add(t, 3, RING_WORD(R_SYNC, op, own ? 0 : target), where,
             mock_number(t->m, op, own ? t->thread : target));
}

static inline void mock_memory(struct mock_thread *t, unsigned op, uint64_t address, uint64_t bytes)
{
    mock_add(t, 4, RING_WORD(R_MEMORY, op, address), WHERE_PC, bytes,
             mock_number(t->m, op, address));
}

static inline void mock_thread_begin(struct mock *m, struct mock_thread *t, uint32_t thread)
{
    *t = (struct mock_thread){ .m = m, .thread = thread };
    mock_sync(t, OP_BEGIN, 0, WHERE_PC);
}

static inline void mock_thread_end(struct mock_thread *t)
{
    mock_sync(t, OP_END, 0, WHERE_PC);
    mock_hand_over(t);
}

static inline void mock_log(struct mock *m, uint32_t kind, const void *head, size_t head_bytes,
                            const char *text, size_t text_bytes)
{
    struct log_entry *e = (struct log_entry *)(m->base + RING_LOG_OFFSET + m->h->log_used);

    e->kind = kind;
    e->bytes = (uint32_t)((sizeof(*e) + head_bytes + text_bytes + 7) & ~(size_t)7);
    memcpy(e + 1, head, head_bytes);
    memcpy((char *)(e + 1) + head_bytes, text, text_bytes);
    __atomic_store_n(&m->h->log_used, m->h->log_used + e->bytes, __ATOMIC_RELEASE);
}

#endif
