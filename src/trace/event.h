/* event.h - one event of a trace, as every part of the analyser sees it
 *
 * The vocabulary is docs/format/std.md's. An event's position is its index in the
 * trace and is not stored; readers hand out events in batches that know the
 * position of their first event (trace.h).
 *
 * Targets. What `target` means depends on the operation:
 *   memory (read .. rmw, alloc, free, link, object)   an address. A variable that only has
 *       a name (text traces) lives at NAMED_ADDRESS(n), n its number in
 *       tables.variables, and is 8 bytes wide.
 *   synchronisation objects             the object's address, or
 *       NAMED_OBJECT(n), n its number in tables.objects. Locks, condition
 *       variables, barriers ... are different objects even under one name.
 *   fork, join                          the thread's number
 *   call, return, enter, exit           the function's number
 *   branch, result, begin, end, fence   0
 */
#ifndef HEDDLE_TRACE_EVENT_H
#define HEDDLE_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers are part of the file format (docs/format/hdl.md): append only. */
enum op {
    OP_READ = 1,
    OP_WRITE = 2,
    OP_LOAD = 3,  /* atomic load; also a compare-exchange that failed */
    OP_STORE = 4, /* atomic store */
    OP_RMW = 5,   /* atomic read-modify-write */
    OP_FENCE = 6,
    OP_ACQUIRE = 8,
    OP_RELEASE = 9,
    OP_ACQUIRE_SHARED = 10,
    OP_RELEASE_SHARED = 11,
    OP_FORK = 12,
    OP_JOIN = 13,
    OP_BEGIN = 14,
    OP_END = 15,
    OP_WAIT = 16, /* woken: stands between the mutex's inner release and acquire */
    OP_SIGNAL = 17,
    OP_BROADCAST = 18,
    OP_BARRIER_ENTER = 19,
    OP_BARRIER_LEAVE = 20,
    OP_SEM_POST = 21,
    OP_SEM_WAIT = 22,
    OP_ONCE = 23,   /* the first on an object completes the initialisation, later ones see it */
    OP_BEFORE = 24, /* user annotation "happens before" */
    OP_AFTER = 25,  /* user annotation "happens after" */
    OP_ALLOC = 26,
    OP_FREE = 27,
    OP_CALL = 28,
    OP_RETURN = 29,
    OP_BRANCH = 30,
    OP_ENTER = 31,
    OP_EXIT = 32,
    OP_LINK = 33,    /* a pointer was stored: target the word's address, `value` the pointer */
    OP_OBJECT = 34,  /* memory that no alloc tells of is one object: address, `value` the bytes */
    OP_RESULT = 35,  /* full builds: what a call of code without bitcode returned, `value` */
    OP_REQUEST = 36, /* the thread waits for a lock and has not got it when the trace ends */
    OP_REQUEST_SHARED = 37,
    OP_COUNT
};

enum memory_order {
    ORDER_NONE = 0, /* not an atomic */
    ORDER_RELAXED,
    ORDER_CONSUME,
    ORDER_ACQUIRE,
    ORDER_RELEASE,
    ORDER_ACQ_REL,
    ORDER_SEQ_CST,
    ORDER_COUNT
};

enum event_flag {
    EV_VALUE = 1 << 0,  /* `value` is known: loaded, stored, or a branch's outcome */
    EV_SIGNED = 1 << 1, /* `value` (and `old`) read as signed numbers in text */
    EV_OLD = 1 << 2,    /* rmw: `old` holds the value before */
    EV_BARE =
        1 << 3,            /* how the text was: fork(7) for thread T7; begin(T7) for T7's begin;
                              acquires: would not have waited for ever (trylock, a time limit);
                              semaphore post: none, a new semaphore begins here (event_begins_semaphore()) */
    EV_LOOSE = 1 << 4,     /* read: what it sees goes into loose writes of its thread and nowhere
                              else; write: what it writes may come from loose reads of its thread;
                              rmw: both (docs/design/marks.md) */
    EV_BY_CALL = 1 << 7,   /* with EV_UNSEEN: a call of untraced code wrote it; set by unseen.c */
    EV_NESTED = 1 << 8,    /* inner acquire or release of a recursive lock; set by check_trace.c */
    EV_IGNORED = 1 << 9,   /* impossible here and left out of the analysis; set by check_trace.c */
    EV_FOREIGN = 1 << 10,  /* release of a lock this thread does not hold; set by check_trace.c */
    EV_SIEVED = 1 << 11,   /* an access that matters to no engine: no step; set by sieve.c */
    EV_EXCLUDED = 1 << 12, /* of code the user left out, always with EV_IGNORED; set by exclude.c */
    EV_ALONE = 1 << 13,    /* a call that returns at once, without an event; set by exclude.c */
    EV_LASTS = 1 << 14,    /* a call after whose return its accesses may still be repeated, up to
                              the thread's next synchronisation; set by exclude.c */
    EV_UNSEEN = 1 << 15    /* a read of what nobody in the trace wrote; set by merge_values.c, and
                              for the events in memory by unseen.c */
};
#define EV_STORED_FLAGS (EV_VALUE | EV_SIGNED | EV_OLD | EV_BARE | EV_LOOSE)

#define THREAD_NONE UINT32_MAX
#define SITE_NONE   UINT32_MAX

struct event {
    uint64_t target;
    uint64_t value; /* see EV_VALUE; alloc and free: bytes (free: 0 unknown, without effect);
                       link: the pointer; object: bytes; call: first word in batch.extra */
    uint64_t old;   /* see EV_OLD; call: number of entries of D, two words each (trace.h) */
    uint32_t thread;
    uint32_t site;
    uint32_t size; /* bytes accessed; 0 where that makes no sense */
    uint8_t op;    /* enum op */
    uint8_t order; /* enum memory_order */
    uint16_t flags;
};

#define TEXT_SEMINIT "seminit" /* the text of event_begins_semaphore() */

/* Named things live where no user address can be. */
#define NAMED_BIT        60
#define NAMED_BASE       ((uint64_t)1 << NAMED_BIT)
#define NAMED_ADDRESS(n) (NAMED_BASE + 8 * (uint64_t)(n))
#define NAMED_OBJECT(n)  (NAMED_BASE + (uint64_t)(n))
/* Addresses are below this; readers reject what is not (2^57: five-level paging). */
#define ADDRESS_LIMIT ((uint64_t)1 << 57)
/* No access is larger: every 8 bytes of it are a variable. Recorders cut larger ones up. */
#define ACCESS_MAX_BYTES ((uint64_t)1 << 20)

static inline bool is_named(uint64_t target)
{
    return target >= NAMED_BASE;
}

static inline uint32_t named_variable(uint64_t address)
{
    return (uint32_t)((address - NAMED_BASE) / 8);
}

static inline uint32_t named_object(uint64_t target)
{
    return (uint32_t)(target - NAMED_BASE);
}

/* An entry of a call's D is two words. The top three bits of the first one say what it is; below is
 * an address or a number. Engines meet the kinds up to D_ALL_KIND; what comes behind is only in
 * recordings, and the reader turns it into memory (trace/calls/reach.h).
 *   memory     address (or NAMED_ADDRESS), bytes
 *   thread     the end of thread t, 0
 *   start      the beginning of thread t, 0 (a fork that is not in the trace)
 *   sync       a synchronisation object that only has a name: its number, 0
 *   all        anything: 0, 0
 *   root       a pointer that was passed, 0: its object and all that can be reached from there
 *   extent     address, bytes: an object that no alloc tells of: a global, a variable on a stack
 *   slot       address, pointer: this word of an object holds a pointer
 */
enum d_kind {
    D_MEMORY_KIND,
    D_THREAD_KIND,
    D_START_KIND,
    D_SYNC_KIND,
    D_ALL_KIND,
    D_ROOT_KIND,
    D_EXTENT_KIND,
    D_SLOT_KIND
};
#define D_ENTRY(kind, low) ((uint64_t)(kind) << 61 | (low))
#define D_KIND(entry)      ((enum d_kind)((entry) >> 61))
#define D_LOW(entry)       ((entry) & (((uint64_t)1 << 61) - 1))

/* The entry that stands for a thread's end, not for memory. */
#define D_THREAD(t)        D_ENTRY(D_THREAD_KIND, t)
#define D_IS_THREAD(entry) (D_KIND(entry) == D_THREAD_KIND)
#define D_THREAD_OF(entry) ((uint32_t)((entry) & UINT32_MAX))

/* What an operation is, for code that treats whole classes alike. */
enum op_class {
    CLASS_NONE,
    CLASS_ACCESS, /* read, write */
    CLASS_ATOMIC, /* load, store, rmw */
    CLASS_FENCE,
    CLASS_LOCK,
    CLASS_THREAD, /* fork, join, begin, end */
    CLASS_COND,
    CLASS_BARRIER,
    CLASS_SEM,
    CLASS_ONCE,
    CLASS_ANNOTATION,
    CLASS_MEMORY, /* alloc, free */
    CLASS_CALL,   /* call, return */
    CLASS_BRANCH, /* branch, result */
    CLASS_STACK,  /* enter, exit */
    CLASS_LINK,   /* link, object: what calls can reach (trace/calls/reach.h), nothing to engines */
    CLASS_REQUEST /* request: of a lock */
};

struct op_info {
    const char *name;   /* as JSON and reports say it: "write", "acquire-shared" */
    const char *text;   /* as the text format says it: "w", "acqs" */
    uint8_t op_class;   /* enum op_class */
    bool reads, writes; /* touches memory */
};

extern const struct op_info op_table[OP_COUNT];    /* name is NULL for numbers not in use */
extern const char *const order_names[ORDER_COUNT]; /* "rlx", "acq" ...; [0] is "" */

static inline bool op_is_known(unsigned op)
{
    return op < OP_COUNT && op_table[op].name;
}

static inline enum op_class op_class_of(unsigned op)
{
    return (enum op_class)op_table[op].op_class;
}

/* A thread that waits for a lock when the trace ends. */
static inline bool op_is_request(unsigned op)
{
    return op == OP_REQUEST || op == OP_REQUEST_SHARED;
}

/* What a request was for: reports speak of the acquire, so that a deadlock is the same whether it
 * happened or could have. */
static inline unsigned op_wanted(unsigned op)
{
    return op == OP_REQUEST ? OP_ACQUIRE : op == OP_REQUEST_SHARED ? OP_ACQUIRE_SHARED : op;
}

/* Tells synchronisation objects apart: locks, condition variables ... may share a target. The
 * class goes where neither an address (57 bits) nor NAMED_BIT is. */
static inline uint64_t sync_object_key(unsigned op, uint64_t target)
{
    uint64_t kind = op_is_request(op) ? CLASS_LOCK : op_class_of(op);

    return target ^ kind << 61 ^ kind >> 3 << 59;
}

/* True for read, write and the atomics: what can be one side of a race. */
static inline bool op_is_access(unsigned op)
{
    return op >= OP_READ && op <= OP_RMW;
}

static inline bool op_is_atomic(unsigned op)
{
    return op >= OP_LOAD && op <= OP_RMW;
}

/* Lock operations, and requests for locks. */
static inline bool op_is_on_lock(unsigned op)
{
    return (op >= OP_ACQUIRE && op <= OP_RELEASE_SHARED) || op_is_request(op);
}

static inline bool order_acquires(unsigned order)
{
    return order == ORDER_ACQUIRE || order == ORDER_CONSUME || order >= ORDER_ACQ_REL;
}

static inline bool order_releases(unsigned order)
{
    return order >= ORDER_RELEASE;
}

/* Up to here, and no further, a recorder may take a plain access for a repetition of an earlier one
 * of its thread (docs/design/proof.md, "Quiet periods"). An acquire load is no end: it lets go of
 * nothing. */
static inline bool event_ends_quiet(const struct event *e)
{
    if (op_is_access(e->op))
        return (e->op == OP_STORE || e->op == OP_RMW) && order_releases(e->order);
    return e->op < OP_ALLOC && e->op != OP_AFTER;
}

/* A semaphore is initialised: what was posted on its address before counts no more. Its value is
 * posts that follow. */
static inline bool event_begins_semaphore(const struct event *e)
{
    return e->op == OP_SEM_POST && e->flags & EV_BARE;
}

/* How many events of the trace it is: itself, or in a thin pass (trace_thin()) those that were left
 * out, which then have no operation. */
static inline uint64_t event_positions(const struct event *e)
{
    return __builtin_expect(e->op != 0, 1) ? 1 : e->value;
}

/* The value that a read saw, where the trace tells it and may have a write of it. */
static inline bool event_saw(const struct event *e, uint64_t *value)
{
    *value = e->op == OP_RMW ? e->old : e->value;
    return e->flags & (e->op == OP_RMW ? EV_OLD : EV_VALUE) && !(e->flags & EV_UNSEEN);
}

#endif
