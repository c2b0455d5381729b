/* recording.c - make a recording without a program: for the second reader of the format
 *
 *     recording DIRECTORY SEED
 *
 * Prints the path of the file. A fork fills the shared memory with random
 * records of a few threads, as the runtime does; this process is the writer.
 */
#include "../unit/ring_tools.h"

#include "record/recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { THREADS = 5, RECORDS = 3000 };

struct own {
    struct mock_thread t;
    uint64_t seed;
    bool told[6]; /* moves */
};

static uint64_t below(struct own *o, uint64_t n)
{
    o->seed = o->seed * 6364136223846793005u + 1442695040888963407u;
    return (o->seed >> 33) % n;
}

static void add_call(struct own *o)
{
    uint64_t pointer = (0x4000 + 8 * below(o, 40)) << 8;

    mock_add(&o->t, 5, RING_WORD(R_CALL, below(o, 9) ? CALL_KNOWN : CALL_ALL, 3), UINT64_C(3),
             pointer, UINT64_C(0), below(o, 2) ? pointer + 2064 : UINT64_C(0x9000));
    mock_add(&o->t, 3, RING_WORD(R_RETURN, 0, 0), UINT64_C(3), UINT64_C(0));
}

/* Told before a call, in two records. */
static void add_object(struct own *o, uint64_t address)
{
    mock_add(&o->t, 7, RING_WORD(R_OBJECT, 0, address), UINT64_C(32), UINT64_C(2), address,
             address + 64 * below(o, 9), address + 8, UINT64_C(0));
    mock_add(&o->t, 5, RING_WORD(R_OBJECT, OBJECT_MORE, address), UINT64_C(32), UINT64_C(1),
             address + 16, below(o, 2) ? address : UINT64_MAX);
}

/* A few moves again and again; some are told of anew. */
static void add_move(struct own *o)
{
    uint64_t n = below(o, 6), left = n % 3, entered = n ? n % 2 : 2;

    if (o->told[n] && below(o, 20)) {
        mock_add(&o->t, 1, RING_WORD(R_MOVE, 0, n * 300));
        return;
    }
    o->told[n] = true;
    left += !(left + entered);
    mock_add(&o->t, (int)(1 + 2 * entered),
             RING_WORD(R_MOVE, MOVE_NEW, n * 300 | left << 16 | entered << 24),
             0x1000 + below(o, 9), UINT64_C(5), UINT64_C(0x1010), UINT64_C(7));
}

static void add_random(struct own *o, struct mock *m)
{
    uint64_t address = 0x4000 + 8 * below(o, 40), lock = 0x7000 + 64 * below(o, 300);
    unsigned op = OP_LOAD + (unsigned)below(o, 3);

    switch (below(o, 15)) {
    case 0:
        mock_sync(&o->t, below(o, 2) ? OP_ACQUIRE : OP_RELEASE, lock, WHERE_PC | (0x1000 + lock));
        break;
    case 1:
        mock_add(&o->t, 5, RING_WORD(R_ATOMIC, (op - OP_LOAD) | 2 << 2 | 2 << 6, address + 4),
                 UINT64_C(9), mock_number(m, op, address + 4) << 8 | ORDER_ACQUIRE, below(o, 100),
                 below(o, 100));
        break;
    case 2:
        mock_memory(&o->t, below(o, 3) ? OP_ALLOC : OP_FREE, address << 8, 16);
        break;
    case 3:
        mock_memory(&o->t, OP_FREE, address << 8, 0);
        break;
    case 4:
        mock_add(&o->t, 2, RING_WORD(R_ENTER, 0, 0x1000 + address), UINT64_C(5));
        break;
    case 5:
        mock_add(&o->t, 1, RING_WORD(R_EXIT, 0, 1));
        break;
    case 6:
        if (below(o, 2))
            add_object(o, address << 8);
        add_call(o);
        mock_add(&o->t, 3, RING_WORD(R_LINK, 0, (address << 8) + 8), (address + 8) << 8,
                 UINT64_C(6));
        break;
    case 7:
        mock_add(&o->t, 3, RING_WORD(R_RANGE, ACCESS_WRITE, address), UINT64_C(6),
                 1 + below(o, 3 << 20));
        break;
    case 8:
    case 9:
        add_move(o);
        break;
    case 10:
        mock_add(&o->t, 2, RING_WORD(R_ACCESS, below(o, 8) | ACCESS_STEPS, address),
                 below(o, 30) | (2 + below(o, STEPS_MAX - 1)) << 32 |
                     (below(o, 200) - UINT64_C(100)) << 48);
        break;
    default:
        mock_access(&o->t, below(o, 2), address, (unsigned)below(o, 4), (uint32_t)below(o, 30));
    }
}

static void *run_thread(void *arg)
{
    struct own *o = arg;
    struct mock *m = o->t.m;

    mock_thread_begin(m, &o->t, o->t.thread);
    for (int i = 0; i < RECORDS; i++)
        add_random(o, m);
    mock_thread_end(&o->t);
    return NULL;
}

static void run_process(struct mock *m, uint64_t seed)
{
    static struct own own[THREADS];
    pthread_t threads[THREADS];

    mock_wait_ready(m);
    for (uint32_t i = 0; i < THREADS; i++) {
        own[i] = (struct own){ .t = { .m = m, .thread = i }, .seed = seed * 1000 + i };
        pthread_create(&threads[i], NULL, run_thread, &own[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

static void describe(struct mock *m)
{
    struct log_image image = { .base = 0x1000, .low = 0x1000, .high = 0x2000, .traced = 1 };
    struct log_module module = { .id = { 1, 2 }, .sites = 30 };
    struct ring_thread *first = (struct ring_thread *)(m->base + RING_THREADS_OFFSET);

    m->h->threads = THREADS;
    first->tid = 1;
    strcpy(first->name, "first");
    mock_log(m, LOG_PROCESS, "", 0, "./mock\0--seed", 14);
    mock_log(m, LOG_IMAGE, &image, sizeof(image), "/nowhere/mock", 14);
    mock_log(m, LOG_MODULE, &module, sizeof(module), "", 0);
    image = (struct log_image){ .base = 0, .low = 0x3000, .high = 0x4000, .build_id_bytes = 4 };
    mock_log(m, LOG_IMAGE, &image, sizeof(image), "/nowhere/lib", 13);
    mock_log(m, LOG_TEXT, "", 0, "mocked", 7);
}

int main(int argc, char **argv)
{
    struct recorder_options o = { .sink.compression = HDL_RAW, .workers = 2 };
    struct error err;
    struct mock m;
    struct ring r;
    pid_t pid;

    if (argc != 3)
        return 2;
    o.sink.directory = argv[1];
    mock_new(&m, 64);
    describe(&m);
    pid = fork();
    if (pid == 0)
        run_process(&m, strtoull(argv[2], NULL, 10));
    m.h->pid = (uint32_t)pid;
    if (ring_open(&r, m.fd, &err) < 0 || recorder_run(&r, &o, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    waitpid(pid, NULL, 0);
    ring_close(&r);
    printf("%s/%d.hdl\n", argv[1], (int)pid);
    return 0;
}
