/* fuzz_ring.c - the writer against shared memory that means harm
 *
 * The input fills the memory of a process that is gone: chunks, the log, words
 * of the header. Whatever they hold, the writer must make a file that can be
 * read to its end; what is missing in it may only be operations that others
 * wait for.
 */
#include "record/recorder.h"
#include "trace/trace.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { CHUNKS = 8, LOG_BYTES = 4096, THREADS = 16, NOBODY = 0x3fffffff };

struct input {
    const uint8_t *at, *end;
};

static uint64_t take(struct input *in, size_t n)
{
    uint64_t v = 0;

    if ((size_t)(in->end - in->at) < n)
        n = (size_t)(in->end - in->at);
    memcpy(&v, in->at, n);
    in->at += n;
    return v;
}

static char *base;
static int fd;
static char directory[] = "/tmp/heddle-fuzz-XXXXXX";
static uint64_t start_stamp, start_ns; /* else the writer would have to sleep to find its clock */

static void make_memory(void)
{
    size_t bytes = (size_t)RING_CHUNKS_OFFSET + CHUNKS * RING_CHUNK_BYTES;
    struct timespec t;

    fd = memfd_create("heddle", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 || !mkdtemp(directory))
        abort();
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        abort();
    clock_gettime(CLOCK_MONOTONIC, &t);
    start_stamp = __rdtsc() >> RING_STAMP_SHIFT;
    start_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Half of the words are records as they should be, so that what is behind them is reached. */
static uint64_t take_word(struct input *in)
{
    unsigned kind = (unsigned)take(in, 1);

    if (kind < 0x80)
        return RING_WORD(kind % (R_END + 2), take(in, 1), take(in, 2));
    return take(in, 8);
}

static void fill_chunk(struct input *in, uint32_t number)
{
    struct ring_chunk *c =
        (struct ring_chunk *)(base + RING_CHUNKS_OFFSET + number * RING_CHUNK_BYTES);
    uint64_t *w = (uint64_t *)(c + 1);
    uint64_t how = take(in, 1), words = take(in, 1);

    *c = (struct ring_chunk){ .cursor = RING_CHUNK_HEADER + 8 * words,
                              .thread = (uint32_t)take(in, 1) % (THREADS + 1),
                              .serial = (uint32_t)take(in, 1) % 8,
                              .state = (uint32_t)(how & 3),
                              .next = (uint32_t)take(in, 1) % (CHUNKS + 2),
                              .number = number };
    if (how & 4)
        c->insert_at = (uint32_t)take(in, 2);
    if (how & 8)
        c->cursor = take(in, 8);
    for (uint64_t i = 0; i < words; i++)
        w[i] = take_word(in);
}

static void fill_memory(struct input *in)
{
    struct ring_header *h = (struct ring_header *)base;
    uint64_t how;

    *h = (struct ring_header){ .magic = RING_MAGIC,
                               .version = RING_VERSION,
                               .pid = NOBODY,
                               .chunks = CHUNKS,
                               .chunks_max = CHUNKS,
                               .threads = THREADS,
                               .tsc_start = start_stamp,
                               .ns_start = start_ns,
                               .full_head = take(in, 1) % (CHUNKS + 2) };
    h->log_used = take(in, 2) % LOG_BYTES & ~7u;
    for (uint64_t i = 0; i < h->log_used; i += 8)
        *(uint64_t *)(base + RING_LOG_OFFSET + i) = take(in, 1) | take(in, 1) << 32;
    for (uint32_t i = 0; i < CHUNKS; i++)
        fill_chunk(in, i);
    how = take(in, 1);
    if (how & 1)
        h->log_used = take(in, 8);
    if (how & 2)
        h->chunks = (uint32_t)take(in, 4);
    if (how & 4)
        h->threads = (uint32_t)take(in, 4);
}

/* Events may be missing only where sequence numbers are. */
static void read_back(const char *path)
{
    struct error err;
    struct trace *t = trace_open(path, &err);
    struct batch b;
    int r;

    if (!t)
        abort();
    while ((r = trace_next(t, &b, &err)) > 0)
        ;
    if (r < 0 || (trace_info(t)->loss[0] && !strstr(trace_info(t)->loss, "uses next was lost")))
        abort();
    trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recorder_options o = { .workers = 1 };
    struct input in = { data, data + size };
    struct error err;
    struct ring r;
    char path[64];

    if (!base)
        make_memory();
    o.sink.directory = directory;
    o.sink.compression = (enum hdl_compression)(take(&in, 1) % 3);
    fill_memory(&in);
    snprintf(path, sizeof(path), "%s/%u.hdl", directory, NOBODY);
    if (ring_open(&r, fd, &err) < 0 || recorder_run(&r, &o, &err) < 0)
        abort();
    ring_close(&r);
    read_back(path);
    unlink(path);
    return 0;
}
