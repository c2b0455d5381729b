/* writer.c - how fast the writer turns raw records into a file
 *
 *     heddle-bench-writer [RECORDS [THREADS [none|lz4|zstd]]]
 *
 * A fork fills the shared memory with plain accesses: array walks, a hash
 * table, a few fields; this process is the writer, with one worker. Prints
 * records per second of the writer's CPU time, and bytes per record.
 */
#include "../tests/unit/ring_tools.h"
#include "measure.h"

#include "record/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

static uint64_t records = 20000000;

/* Five sites in turn; the third and fourth go where a hash sends them. */
static uint64_t address_of(uint64_t base, uint64_t i, uint64_t *hash)
{
    switch (i % 5) {
    case 0:
        return base + 8 * (i / 5);
    case 1:
        return base + 0x10000000 + 4 * (i / 5 % 1000);
    case 2:
        *hash = *hash * 6364136223846793005u + 1;
        return base + 0x20000000 + 8 * (*hash >> 44);
    case 3:
        return base + 0x20000000 + 8 * (*hash >> 44) + 4;
    default:
        return base + 0x30000000;
    }
}

static void *produce(void *arg)
{
    struct mock_thread *t = arg;
    uint64_t hash = 1, base = (uint64_t)(t->thread + 1) << 32;

    for (uint64_t i = 0; i < records; i++) {
        if (i % 16 == 0)
            mock_stamp(t);
        mock_access(t, i % 5 == 4, address_of(base, i, &hash), i % 5 == 0 ? 3 : 2,
                    (uint32_t)(i % 5));
    }
    mock_thread_end(t);
    return NULL;
}

static void run(struct mock *m, uint32_t threads)
{
    struct mock_thread *t = calloc(threads, sizeof(*t));
    pthread_t *p = calloc(threads, sizeof(*p));

    mock_wait_ready(m);
    for (uint32_t i = 0; i < threads; i++) {
        t[i] = (struct mock_thread){ .m = m, .thread = i };
        pthread_create(&p[i], NULL, produce, &t[i]);
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(p[i], NULL);
    _exit(0);
}

static void log_module(struct mock *m)
{
    struct log_image image = { .low = 0x1000, .high = 0x2000, .traced = 1 };
    struct log_module module = { .sites = 5 };

    mock_log(m, LOG_IMAGE, &image, sizeof(image), "/nowhere", 9);
    mock_log(m, LOG_MODULE, &module, sizeof(module), "", 0);
}

int main(int argc, char **argv)
{
    struct recorder_options o = { .sink.directory = "/tmp",
                                  .sink.name = "heddle-bench-%p",
                                  .workers = 1,
                                  .sink.compression = HDL_LZ4 };
    uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    struct error err;
    struct stat st;
    struct mock m;
    struct ring r;
    char path[64];
    pid_t pid;

    if (argc > 1)
        records = strtoull(argv[1], NULL, 10);
    if (argc > 3)
        o.sink.compression = argv[3][0] == 'z' ? HDL_ZSTD : argv[3][0] == 'n' ? HDL_RAW : HDL_LZ4;
    mock_new(&m, 1024);
    m.h->threads = threads;
    log_module(&m);
    pid = fork();
    if (pid == 0)
        run(&m, threads);
    m.h->pid = (uint32_t)pid;
    double start = cpu_seconds();
    if (ring_open(&r, m.fd, &err) < 0 || recorder_run(&r, &o, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double seconds = cpu_seconds() - start, n = (double)records * threads;
    waitpid(pid, NULL, 0);
    snprintf(path, sizeof(path), "/tmp/heddle-bench-%d.hdl", (int)pid);
    stat(path, &st);
    unlink(path);
    printf("%.1f M records/s of CPU time, %.2f bytes a record\n", n / seconds / 1e6,
           (double)st.st_size / n);
    return 0;
}
