/* ring.c - mapping, lists and futexes of the shared memory */
#include "record/ring.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* ---- life cycle ---- */

static int check_header(struct ring *r, struct error *err)
{
    const struct ring_header *h = r->header;

    if (h->magic != RING_MAGIC)
        return error_set(err, "not a recording's memory");
    if (!h->version || h->version > RING_VERSION)
        return error_set(err, "the runtime speaks version %u, this is %u: use those of one heddle",
                         h->version, RING_VERSION);
    r->pid = h->pid;
    r->chunks_max = h->chunks_max;
    if (!r->pid || r->pid > INT_MAX || !r->chunks_max || r->chunks_max > RING_CHUNKS_MAX ||
        r->bytes < RING_CHUNKS_OFFSET + (uint64_t)r->chunks_max * RING_CHUNK_BYTES)
        return error_set(err, "the recording's memory is damaged");
    return 0;
}

int ring_open(struct ring *r, int fd, struct error *err)
{
    struct stat st;
    void *map;

    *r = (struct ring){ 0 };
    if (fstat(fd, &st) < 0)
        return error_set(err, "descriptor %d: %s", fd, strerror(errno));
    if (st.st_size < (off_t)RING_CHUNKS_OFFSET)
        return error_set(err, "descriptor %d is not a recording's memory", fd);
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK); /* else touching it could kill us */
    map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED)
        return error_set(err, "cannot map the recording's memory: %s", strerror(errno));
    r->header = map;
    r->bytes = (uint64_t)st.st_size;
    r->device = st.st_dev;
    r->inode = st.st_ino;
    if (check_header(r, err) < 0) {
        ring_close(r);
        return -1;
    }
    r->taken = xcalloc(r->chunks_max, sizeof(*r->taken));
    return 0;
}

void ring_close(struct ring *r)
{
    if (r->header)
        munmap(r->header, (size_t)r->bytes);
    free(r->taken);
    *r = (struct ring){ 0 };
}

/* ---- threads, mapping, log ---- */

bool ring_knows_thread(const struct ring *r, uint64_t thread)
{
    return thread < RING_THREADS_MAX &&
           thread < __atomic_load_n(&r->header->threads, __ATOMIC_RELAXED);
}

bool ring_thread(const struct ring *r, uint32_t thread, struct ring_thread *out)
{
    memcpy(out, (const char *)r->header + RING_THREADS_OFFSET + (uint64_t)thread * sizeof(*out),
           sizeof(*out));
    out->name[sizeof(out->name) - 1] = 0;
    return out->tid != 0;
}

bool ring_is_mapped(const struct ring *r)
{
    char path[64], *line = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%u/maps", r->pid);
    f = fopen(path, "re");
    if (!f)
        return true; /* not allowed to look: the process file descriptor tells when it is gone */
    while (!found && getline(&line, &cap, f) > 0) {
        unsigned major_number, minor_number;
        uint64_t inode;

        found = sscanf(line, "%*x-%*x %*s %*x %x:%x %" SCNu64, &major_number, &minor_number,
                       &inode) == 3 &&
                inode == r->inode && makedev(major_number, minor_number) == r->device;
    }
    free(line);
    fclose(f);
    return found;
}

bool ring_log_entry(const struct ring *r, uint64_t *offset, uint32_t *kind, const char **payload,
                    size_t *bytes)
{
    uint64_t used = __atomic_load_n(&r->header->log_used, __ATOMIC_ACQUIRE);
    const char *at = (const char *)r->header + RING_LOG_OFFSET + *offset;
    struct log_entry e;

    if (used > RING_LOG_BYTES || *offset + sizeof(e) > used)
        return false;
    memcpy(&e, at, sizeof(e));
    if (e.bytes < sizeof(e) || e.bytes % 8 || e.bytes > used - *offset)
        return false;
    *kind = e.kind;
    *payload = at + sizeof(e);
    *bytes = e.bytes - sizeof(e);
    *offset += e.bytes;
    return true;
}

/* ---- lists of chunks ---- */

static struct ring_chunk *chunk_at(const struct ring *r, uint32_t number)
{
    return (struct ring_chunk *)((char *)r->header + RING_CHUNKS_OFFSET +
                                 (uint64_t)number * RING_CHUNK_BYTES);
}

/* Ours from here on, unless it was already. */
static bool ring_take(struct ring *r, uint32_t number)
{
    return !__atomic_exchange_n(&r->taken[number], true, __ATOMIC_ACQUIRE);
}

static void reverse(uint32_t *numbers, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t number = numbers[i];

        numbers[i] = numbers[n - 1 - i];
        numbers[n - 1 - i] = number;
    }
}

size_t ring_collect(struct ring *r, uint32_t *numbers, uint64_t *faults)
{
    uint64_t *head = &r->header->full_head, old = __atomic_load_n(head, __ATOMIC_RELAXED);
    size_t n = 0;
    uint32_t at;

    do
        if (!(uint32_t)old)
            return 0;
    while (!__atomic_compare_exchange_n(head, &old, ((old >> 32) + 1) << 32, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED));
    for (at = (uint32_t)old; at; n++) {
        if (at > r->chunks_max || n == r->chunks_max || !ring_take(r, at - 1)) {
            ++*faults;
            break;
        }
        numbers[n] = at - 1;
        at = __atomic_load_n(&chunk_at(r, at - 1)->next, __ATOMIC_RELAXED);
    }
    reverse(numbers, n);
    return n;
}

size_t ring_collect_rest(struct ring *r, uint32_t *numbers)
{
    uint32_t used = ring_chunks(r);
    size_t n = 0;

    for (uint32_t i = 0; i < used; i++) {
        uint32_t state = __atomic_load_n(&chunk_at(r, i)->state, __ATOMIC_ACQUIRE);

        /* FULL: the process ended between filling it and putting it into the list. */
        if ((state == CHUNK_FILLING || state == CHUNK_FULL) && ring_take(r, i))
            numbers[n++] = i;
    }
    return n;
}

void ring_peek(const struct ring *r, uint32_t number, struct ring_chunk *head)
{
    memcpy(head, chunk_at(r, number), sizeof(*head));
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* what was read once stays as it is */
}

uint32_t ring_chunks(const struct ring *r)
{
    uint32_t used = __atomic_load_n(&r->header->chunks, __ATOMIC_ACQUIRE);

    return used < r->chunks_max ? used : r->chunks_max;
}

bool ring_is_here(const struct ring *r, uint32_t number, struct ring_chunk *head)
{
    uint32_t state = __atomic_load_n(&chunk_at(r, number)->state, __ATOMIC_ACQUIRE);

    if (state == CHUNK_FREE || __atomic_load_n(&r->taken[number], __ATOMIC_ACQUIRE))
        return false;
    ring_peek(r, number, head);
    return true;
}

bool ring_is_filling(const struct ring *r, uint32_t number, struct ring_chunk *head)
{
    return ring_is_here(r, number, head) && head->state == CHUNK_FILLING;
}

bool ring_has_full(const struct ring *r)
{
    uint32_t used = ring_chunks(r);

    for (uint32_t i = 0; i < used; i++)
        if (__atomic_load_n(&chunk_at(r, i)->state, __ATOMIC_RELAXED) == CHUNK_FULL &&
            !__atomic_load_n(&r->taken[i], __ATOMIC_RELAXED))
            return true;
    return false;
}

bool ring_copy(const struct ring *r, uint32_t number, struct chunk_copy *out)
{
    size_t most = (RING_CHUNK_BYTES - RING_CHUNK_HEADER) / 8;

    ring_peek(r, number, &out->head);
    out->words = out->room = 0;
    if (out->head.cursor < RING_CHUNK_HEADER || out->head.cursor > RING_CHUNK_BYTES ||
        out->head.cursor % 8)
        return false;
    out->words = (size_t)(out->head.cursor - RING_CHUNK_HEADER) / 8;
    out->room = out->words + RING_SLACK / 8 < most ? out->words + RING_SLACK / 8 : most;
    memcpy(out->data, chunk_at(r, number) + 1, out->room * 8);
    return true;
}

/* ---- futexes; the words are shared between processes ---- */

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

void ring_give_back(struct ring *r, uint32_t number)
{
    struct ring_header *h = r->header;
    struct ring_chunk *c = chunk_at(r, number);
    uint64_t old = __atomic_load_n(&h->free_head, __ATOMIC_RELAXED), new;

    __atomic_store_n(&c->state, CHUNK_FREE, __ATOMIC_RELAXED);
    __atomic_store_n(&r->taken[number], false, __ATOMIC_RELEASE);
    do {
        __atomic_store_n(&c->next, (uint32_t)old, __ATOMIC_RELAXED);
        new = ((old >> 32) + 1) << 32 | (number + 1);
    } while (!__atomic_compare_exchange_n(&h->free_head, &old, new, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
    /* Threads that wait go on when half of the queue is free: woken for each chunk, they would
     * fill it and wait again, and a quarter of the time would go into that. */
    if (__atomic_sub_fetch(&h->queued, 1, __ATOMIC_SEQ_CST) > h->queue_max / 2)
        return;
    __atomic_fetch_add(&h->wake_threads, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&h->waiting, __ATOMIC_SEQ_CST))
        futex(&h->wake_threads, FUTEX_WAKE, INT_MAX, NULL);
}

void ring_wait(const struct ring *r, uint32_t seen, unsigned milliseconds)
{
    const struct timespec t = { milliseconds / 1000, milliseconds % 1000 * 1000000L };

    futex(&r->header->wake_writer, FUTEX_WAIT, seen, &t);
}

void ring_wake_self(struct ring *r)
{
    __atomic_fetch_add(&r->header->wake_writer, 1, __ATOMIC_SEQ_CST);
    futex(&r->header->wake_writer, FUTEX_WAKE, INT_MAX, NULL);
}

uint32_t ring_asked(const struct ring *r)
{
    struct ring_header *h = r->header;
    uint32_t wanted;

    while ((wanted = __atomic_load_n(&h->effects_wanted, __ATOMIC_ACQUIRE)) ==
           __atomic_load_n(&h->effects_done, __ATOMIC_RELAXED))
        futex(&h->effects_wanted, FUTEX_WAIT, wanted, NULL);
    return wanted;
}

void ring_answer(struct ring *r, uint32_t number)
{
    __atomic_store_n(&r->header->effects_done, number, __ATOMIC_RELEASE);
    futex(&r->header->effects_done, FUTEX_WAKE, INT_MAX, NULL);
}

void ring_ask_self(struct ring *r)
{
    __atomic_store_n(&r->header->effects_wanted, r->header->effects_done + 1, __ATOMIC_SEQ_CST);
    futex(&r->header->effects_wanted, FUTEX_WAKE, INT_MAX, NULL);
}

void ring_tell(struct ring *r, enum ring_writer state)
{
    __atomic_store_n(&r->header->writer_pid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
    __atomic_store_n(&r->header->writer_state, (uint32_t)state, __ATOMIC_SEQ_CST);
    futex(&r->header->writer_state, FUTEX_WAKE, INT_MAX, NULL);
}

void ring_stop(struct ring *r)
{
    __atomic_store_n(&r->header->stop, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&r->header->wake_threads, 1, __ATOMIC_SEQ_CST);
    futex(&r->header->wake_threads, FUTEX_WAKE, INT_MAX, NULL);
}

bool ring_pause(struct ring *r, bool paused)
{
    if (r->header->mode == RING_MODE_FULL)
        return false;
    __atomic_store_n(&r->header->paused, paused, __ATOMIC_SEQ_CST);
    return true;
}

bool ring_is_paused(const struct ring *r)
{
    return __atomic_load_n(&r->header->paused, __ATOMIC_RELAXED);
}
