/* rt_ring.h - the memory that a recorded process shares with its writer
 *
 * One mapping (a memfd) per recorded process: this header, a log of modules, a
 * table of threads, and chunks of raw records. The process fills chunks, the
 * writer (`heddle writer`, trace/writer) turns full ones into a .hdl file and
 * gives them back. Both may die at any moment; neither then waits for the
 * other for ever. When the process is gone, the writer takes what is in all
 * chunks, filled or not: a chunk's cursor is itself in shared memory, behind
 * the last whole record.
 *
 * Lists of chunks are lock-free stacks: `head` is a chunk's number + 1 in the
 * low 32 bits and a counter against ABA in the high ones.
 */
#ifndef HEDDLE_ABI_RT_RING_H
#define HEDDLE_ABI_RT_RING_H

#include <stdint.h>

#define RING_MAGIC UINT64_C(0x31474e4952444448) /* "HDDRING1" */
#define RING_VERSION                                                                               \
    6 /* 1: without R_MOVE, 2: without frames in stretches, 3: without R_WAIT, 4: without          \
         ACCESS_STEPS, 5: without effects; writers read these, too */

enum {
    RING_CHUNK_BYTES = 1 << 15,
    RING_CHUNKS_MAX = 1 << 16, /* 2 GiB of address space; memory only where touched */
    RING_THREADS_MAX = (1 << 22) - (1 << 18), /* numbers given out; 64 bytes each where touched */
    RING_EFFECTS_BYTES = 64 << 18,            /* tables of effects (rt_effects.h) */
    RING_LOG_BYTES = 8 << 20,
    RING_BENIGN_MAX = 192 /* what is left of the header's page */
};

enum ring_mode { RING_MODE_OFF, RING_MODE_RECORD, RING_MODE_FULL };

/* Offsets of the parts within the mapping. */
#define RING_LOG_OFFSET     UINT64_C(4096)
#define RING_THREADS_OFFSET (RING_LOG_OFFSET + RING_LOG_BYTES)
#define RING_EFFECTS_OFFSET (RING_THREADS_OFFSET + (uint64_t)RING_THREADS_MAX * 64)
#define RING_CHUNKS_OFFSET  (RING_EFFECTS_OFFSET + RING_EFFECTS_BYTES)
#define RING_BYTES_LEAST                                                                           \
    (RING_CHUNKS_OFFSET + (64 << 20)) /* with fewer chunks nothing is recorded */
#define RING_BYTES (RING_CHUNKS_OFFSET + (uint64_t)RING_CHUNKS_MAX * RING_CHUNK_BYTES)

struct ring_header {
    uint64_t magic;
    uint32_t version;
    uint32_t pid;
    uint64_t bytes;      /* of the mapping */
    uint32_t mode;       /* enum ring_mode */
    uint32_t chunks;     /* numbers below this were handed out at some time */
    uint32_t chunks_max; /* no more than these exist */
    uint32_t queue_max;  /* full chunks that may wait for the writer; then threads wait or lose */
    uint32_t lose;       /* 1: lose accesses then (counted), 0: wait */
    uint32_t filter;     /* 1: the filter is on */
    uint64_t tsc_start, ns_start; /* a pair of readings of the TSC and CLOCK_MONOTONIC */
    uint64_t free_head;           /* stack of chunks to use */
    uint64_t full_head;           /* stack of chunks for the writer, the newest on top */
    uint32_t queued;              /* chunks in it */
    uint32_t wake_writer;         /* futex: counts hand-overs; the writer sleeps on it */
    uint32_t wake_threads;        /* futex: counts chunks given back */
    uint32_t waiting;             /* threads asleep on it */
    uint32_t threads;             /* thread numbers given out; 0 is the main thread */
    uint32_t exec;                /* 1: about to exec, the image may be gone soon */
    uint64_t log_used;            /* bytes; grows only */
    uint32_t log_lock;
    uint32_t writer_pid;   /* 0 until it is ready */
    uint32_t writer_state; /* enum ring_writer; futex */
    uint32_t stop;         /* the writer sets it: size limit reached, record no more */
    /* Counters of the process, printed by `record` and `info`. */
    uint64_t lost;     /* accesses lost for want of chunks */
    uint64_t filtered; /* accesses the filter's slow half dropped (inline hits are not counted) */
    uint64_t dropped_log; /* modules that did not fit the log */
    uint64_t late;        /* events of threads after their end */
    uint64_t ignored;     /* accesses ignored on request */
    uint64_t overruns;    /* shadow stack overruns */
    uint64_t calls;       /* of untraced code */
    uint64_t calls_all;   /* ... of which not all that they can reach was looked at */
    /* Full builds: accesses within do not count. Entries below nbenign are there for good. */
    uint64_t nbenign;
    struct ring_benign {
        uint64_t address, bytes;
    } benign[RING_BENIGN_MAX];
    uint32_t paused; /* the writer sets it: accesses are not recorded for now */
    uint32_t forked; /* 1: the process has its parent's memory, and what locks its thread held */
    /* What untraced code may do: the process asks, with the number of images it has logged so far;
     * the writer answers with a table for these, as an offset (0: none), and the number. Futexes.
     */
    uint32_t effects_wanted, effects_done;
    uint64_t effects_at;
};
_Static_assert(sizeof(struct ring_header) <= 4096, "RING_LOG_OFFSET");

/* Address space is limited (`ulimit -v`): with less than this nothing is recorded. What our memory
 * takes, the program cannot have for its threads' stacks. */
#define RING_SPACE_LEAST (UINT64_C(1) << 30)

enum ring_writer { WRITER_STARTING, WRITER_READY, WRITER_FAILED, WRITER_DONE };

/* A thread; written by the thread that creates it, then by itself. */
struct ring_thread {
    uint32_t tid;   /* of the system; 0: not begun */
    uint32_t state; /* enum ring_thread_state */
    uint64_t stack_low, stack_high;
    char name[24]; /* pthread_setname_np; may be empty */
    uint64_t
        reserved[2]; /* [0]: its pthread_t, 0 not known; kept when it ends; [1]: RING_FIBER.. */
};
enum ring_thread_life {
    RING_FIBER = 1,  /* none of the system's */
    RING_HIDDEN = 2, /* untraced code runs it */
    RING_ASLEEP = 4, /* until another thread wakes it */
    RING_EXITS = 8   /* it ends the program */
};
enum ring_thread_state { THREAD_NEW, THREAD_RUNNING, THREAD_ENDED };

/* A chunk: this header, then records up to `cursor`. */
struct ring_chunk {
    uint64_t cursor; /* offset of the next record from the start of the chunk */
    uint64_t limit;  /* beyond it the chunk is full; there is room for RING_SLACK bytes behind */
    uint32_t thread;
    uint32_t serial;    /* 0, 1, ... within the thread */
    uint32_t state;     /* enum ring_chunk_state */
    uint32_t next;      /* in a list: number + 1 */
    uint64_t tsc_start; /* stamp (TSC >> RING_STAMP_SHIFT) before the first record */
    uint64_t ns_start;  /* CLOCK_MONOTONIC at the same moment */
    uint32_t number;    /* of the chunk */
    /* A signal handler that interrupts an inline append gets a chunk of its own, which belongs
     * between the records of chunk `insert_serial` at offset `insert_at`. */
    uint32_t insert_serial;
    uint32_t insert_at;     /* 0: an ordinary chunk */
    uint32_t handler_depth; /* the process's own: of the shadow stack, where the handler began */
};
enum ring_chunk_state { CHUNK_FREE, CHUNK_FILLING, CHUNK_FULL };
enum { RING_CHUNK_HEADER = 64, RING_SLACK = 256, RING_STAMP_SHIFT = 6 };

/* Objects have 47 bits; this one marks an acquire that would not have waited for ever (trylock, a
 * lock with a time limit), and a post that begins a semaphore (event_begins_semaphore()). */
#define RING_MARK (UINT64_C(1) << 47)
static inline int ring_may_be_marked(unsigned op)
{
    return op == 8 || op == 10 || op == 21; /* OP_ACQUIRE, OP_ACQUIRE_SHARED, OP_SEM_POST */
}

/* ---- records ----
 *
 * Words of 8 bytes. The first one's top byte is the kind (never 0), the next byte its argument,
 * the low 48 bits a number, mostly an address. WHERE is a word that says where in the program:
 * a site number (bit 63 clear), or a return address (bit 63 set).
 */
enum ring_kind {
    R_STAMP = 1, /* 48: TSC >> RING_STAMP_SHIFT, low 48 bits; holds until the next one */
    R_ACCESS,    /* 48: address, arg: ACCESS_*; word 1: site | value << 32 (value only with
                    ACCESS_VALUE32), or WHERE with ACCESS_PC; word 2: value with ACCESS_VALUE64 */
    R_RANGE,     /* 48: address, arg: ACCESS_WRITE or 0; word 1: WHERE; word 2: bytes (> 0) */
    R_ENTER,  /* 48: return address; word 1: WHERE: the entry's site, or a PC within the function;
                 arg ENTER_DEPTH: word 1 is site | depth << 32 */
    R_EXIT,   /* 48: number of frames left; arg EXIT_TO: depth of the shadow stack afterwards */
    R_SYNC,   /* 48: object (thread number for fork, join; 0 for begin, end), arg: enum op;
                 word 1: WHERE; word 2: sequence number; an object with RING_MARK: see there */
    R_ATOMIC, /* 48: address, arg: op - OP_LOAD | log2 size << 2 | values << 6;
                 word 1: WHERE; word 2: sequence << 8 | order;
                 values 1: word 3 is the value; values 2: word 4 is also the old one */
    R_FENCE,  /* arg: order; word 1: WHERE */
    R_MEMORY, /* 48: address, arg: OP_ALLOC or OP_FREE; word 1: WHERE; word 2: bytes (free: 0 if
                 unknown, then the writer looks it up; never if no alloc was seen);
                 word 3: sequence */
    R_BRANCH, /* 48: site | outcome << 32 */
    R_CALL,   /* 48: number of pointers, arg: CALL_*; word 1: site; then the pointers */
    R_RETURN, /* word 1: site; word 2: value; without an R_CALL: of a function the runtime models;
                 arg RETURN_AWAY: the untraced code has called traced code */
    R_LOST,   /* 48: accesses lost here */
    R_END,    /* the process ends (exit): nothing of this thread follows */
    R_OBJECT, /* 48: address of an object that can be reached from a pointer that is passed to
                 untraced code, arg: OBJECT_MORE: it was told of before, and this adds to it or
                 changes it; word 1: bytes; word 2: number of slots that follow, two words each: a
                 word's address, the pointer in it (0: none any more). Those before an R_CALL of
                 the thread belong to it */
    R_LINK,   /* 48: address of a word of memory; word 1: the pointer stored there, word 2: site */
    R_MOVE,   /* frames left and entered. 48: number of the move, of the thread's own; with arg
                 MOVE_NEW it is a new one from here on: number | left << 16 | entered << 24, and two
                 words for each frame entered, as in R_ENTER: return address, WHERE */
    R_IGNORE, /* full builds. 48: 1: from here on accesses and branches do not count; 0: again */
    R_WAIT    /* 48: the lock that the thread waits for from here on, perhaps for ever, arg: the
                 acquire's op; 0: it does not wait any more; word 1: WHERE */
    /* From STRETCH_MARK (rt_stretch.h) on: the accesses and the branch of a stretch of code. */
};

enum {
    ACCESS_WRITE = 1,
    ACCESS_SIZE_SHIFT = 1, /* 3 bits: log2 of the bytes, 0 to 4 */
    ACCESS_PC = 1 << 4,
    ACCESS_VALUE32 = 1 << 5,
    ACCESS_VALUE64 = 1 << 6,
    ACCESS_RUN = 1 << 7, /* consecutive accesses as one: word 1 is site | bytes << 32 */
    /* several, each `step` bytes behind the one before (or before it): word 1 is site |
     * their number, 2 to STEPS_MAX << 32 | step << 48, which is signed */
    ACCESS_STEPS = ACCESS_RUN | ACCESS_VALUE32
};
enum { STEPS_MAX = 64 };

static inline uint64_t ring_steps_word(uint64_t site, unsigned number, int64_t step)
{
    return site | (uint64_t)number << 32 | (uint64_t)step << 48;
}

static inline unsigned ring_steps(uint64_t word)
{
    return word >> 32 & 0xffff;
}

static inline int64_t ring_step(uint64_t word)
{
    return (int64_t)word >> 48;
}

/* A call: not all that can be reached from its pointers was looked at, take it for everything. Its
 * function is known to be untraced: shown whatever record comes next. It is no new one: the traced
 * code that an open one had called (RETURN_AWAY) has come back to it. */
enum { CALL_ALL = 1, CALL_KNOWN = 2, CALL_BACK = 4 };
enum { RETURN_AWAY = 1 };
#define CALL_HIDDEN (UINT32_MAX - 1) /* instead of a site: untraced code that runs a thread */
enum { OBJECT_MORE = 1 };

/* Moves: how many a thread has at most, and of how many frames. Of a new one the frames left are
 * the innermost at that moment; whenever the number is used again they are equal to those. */
enum { MOVE_NEW = 1, MOVE_BITS = 11, MOVE_LEFT_MAX = 32, MOVE_ENTERED_MAX = 12 };

/* Full builds say at which depth of the shadow stack a frame begins and ends: what an exception, a
 * jump or code that was built otherwise leaves open is put right by the next record. */
enum { ENTER_DEPTH = 1, EXIT_TO = 1 };

#define RING_WORD(kind, arg, low)                                                                  \
    ((uint64_t)(kind) << 56 | (uint64_t)(arg) << 48 | ((uint64_t)(low) & RING_LOW))
#define RING_LOW ((UINT64_C(1) << 48) - 1)

/* The parts of a first word. */
static inline unsigned ring_kind(uint64_t word)
{
    return (unsigned)(word >> 56);
}

static inline unsigned ring_arg(uint64_t word)
{
    return (unsigned)(word >> 48) & 0xff;
}

/* Both: kind << 8 | arg. */
static inline unsigned ring_head(uint64_t word)
{
    return (unsigned)(word >> 48);
}

static inline uint64_t ring_low(uint64_t word)
{
    return word & RING_LOW;
}

/* Or of the record of a stretch, which has no kind (rt_stretch.h), and of how many words. */
static inline int ring_is_stretch(uint64_t word)
{
    return (int)(word >> 63);
}

static inline unsigned ring_stretch_words(uint64_t word)
{
    return (unsigned)(word >> 56) & 0x7f;
}

#define WHERE_PC (UINT64_C(1) << 63)

/* Sequence numbers count per stripe, a hash of class and target (the thread's own number for
 * begin and end): docs/format/hdl.md, "Stripes". 1, 2, 3 ... */
#define RING_STRIPE_BITS 16

/* ---- the log ----
 *
 * Entries follow each other, each at a multiple of 8: a header and its payload. log_used is
 * raised when an entry is complete.
 */
enum ring_log_kind {
    LOG_IMAGE = 1, /* struct log_image, then the path (NUL) */
    LOG_MODULE,    /* struct log_module */
    LOG_UNMAP,     /* struct log_image without path: dlclose */
    LOG_PROCESS,   /* text: command line, arguments separated by NUL */
    LOG_TEXT,      /* text for the user: what went wrong or was left out */
    LOG_TLS        /* struct log_tls, behind the LOG_IMAGE it belongs to */
};

struct log_entry {
    uint32_t kind;
    uint32_t bytes; /* with this header, a multiple of 8 */
};

struct log_image {
    uint64_t base;      /* load address: what to subtract from an address for the ELF file's own */
    uint64_t low, high; /* addresses it occupies */
    uint32_t traced;    /* it registered modules (those follow) */
    uint32_t build_id_bytes;
    uint8_t build_id[32];
};

/* The image's thread-local variables are so far below each thread's pointer (its pthread_t). */
struct log_tls {
    uint64_t offset, bytes;
};

struct log_module {
    uint64_t id[2];
    uint32_t base, sites;
    uint32_t flags;
    uint32_t reserved;
};

_Static_assert(sizeof(struct ring_thread) == 64, "threads are in an array of shared memory");
_Static_assert(sizeof(struct ring_chunk) == RING_CHUNK_HEADER, "records follow");

#endif
