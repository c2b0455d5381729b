/* abi.h - what instrumented code and the runtime agree on
 *
 * The plugin (pass/) emits code against this header, the runtime implements
 * it. Both must change together: ABI_VERSION is part of a symbol name that
 * every instrumented object refers to, so a mixture does not link.
 * Plain C types and constants only; docs/design/recording.md explains them.
 *
 * Default build. Before it touches memory, code asks the thread's filter,
 * inline, whether the access can add anything; only if so it calls the runtime:
 *
 *     block = address >> FILTER_BLOCK_SHIFT
 *     aligned accesses of 4, 8 and 16 bytes:
 *     units = the one at filter.units + (address >> 3 & tls.unit_mask), in bytes
 *     known = units.tag == (block ^ tls.epoch)
 *     skip if known, and the bits (1 << size / 4) - 1 << (address >> 2 & 31) of units.read are
 *          all set, for a write units.written
 *     all others:
 *     line  = the one at filter.lines + (address >> 1 & tls.line_mask), in bytes
 *     known = line.tag == (block ^ tls.epoch)
 *     bytes = 16 bits at line.read[address >> 3 & 15], for a write line.written
 *     skip if known, and all bits (1 << size) - 1 << (address & 7) of `bytes` are set, and
 *          the access does not leave the block
 *
 * Two tables. Each is right by itself: what it says was accessed, was. A block of 128 bytes
 * has a line in both: its tag, and what of the block was read and written (a write sets both)
 * since the thread's last synchronisation. In `units` that is a bit for each 4 bytes: most
 * memory that programs jump about in holds numbers and pointers, and the four times smaller
 * table is in the cache four times as often. In `lines` it is a bit for each byte.
 * Sizes other than 1, 2, 4, 8, 16 call. The tables begin small; the runtime widens a mask when
 * blocks that were pushed out come back (filter.h); code loads it anew each time.
 *
 * Full build (`--full`). No filter: each access, branch, call is appended to
 * the thread's chunk (rt_ring.h), inline where it is small.
 *
 * Stacks. Each traced function that accesses memory or calls pushes a frame:
 *
 *     entry:   d = tls.depth; tls.shadow[d & SHADOW_MASK] = { return address, site };
 *              tls.depth = d + 1
 *     return:  tls.depth = d; if (d < tls.low) tls.low = d
 *     landing pad, second return of setjmp:
 *              tls.depth = d + 1; if (d + 1 < tls.low) tls.low = d + 1
 *              tls.edge = what it was at entry
 *
 * Functions that untraced code can know call __heddle_edge() at entry and return if d == tls.edge:
 * that is 0, or the depth of the innermost call of untraced code that was recorded.
 *
 * `low` is the lowest depth since frames were last written to the trace: the
 * runtime writes what changed when, and only when, an event is recorded. In a
 * full build it is the same.
 */
#ifndef HEDDLE_ABI_ABI_H
#define HEDDLE_ABI_ABI_H

#include <stdint.h>

#define ABI_VERSION        7
#define ABI_VERSION_SYMBOL "__heddle_abi_7" /* defined by the runtime, used by every module */

enum {
    /* log2 of the entries that the tables have at first, and at most: units remember 1 to 32 MiB in
     * an eighth of that, lines 256 KiB to 16 MiB in half of it */
    FILTER_UNITS_FIRST = 13,
    FILTER_UNITS_BITS = 18,
    FILTER_LINES_FIRST = 11,
    FILTER_LINES_BITS = 17,
    FILTER_UNITS_SHIFT = 4, /* log2 of an entry's bytes */
    FILTER_LINES_SHIFT = 6,
    FILTER_GONE_BITS = 10, /* of the entries of struct heddle_filter_growth */
    FILTER_BLOCK_SHIFT = 7,
    FILTER_EPOCH_SHIFT = 40, /* a tag is the block's number (47 - 8 bits) and the epoch above */
    SHADOW_BITS = 13         /* frames kept; deeper recursion forgets the outermost */
};
#define FILTER_UNITS_MASK(bits) ((uint32_t)(((UINT64_C(1) << (bits)) - 1) << FILTER_UNITS_SHIFT))
#define FILTER_LINES_MASK(bits) ((uint32_t)(((UINT64_C(1) << (bits)) - 1) << FILTER_LINES_SHIFT))
#define FILTER_WORDS            ((1 << FILTER_BLOCK_SHIFT) / 8)
#define SHADOW_MASK             ((1u << SHADOW_BITS) - 1)

struct heddle_filter {
    struct heddle_filter_units {
        uint64_t tag;
        uint32_t read, written; /* a bit for each 4 bytes, all of which were accessed */
    } units[1 << FILTER_UNITS_BITS];
    struct heddle_filter_line {
        uint64_t tag;
        uint8_t read[FILTER_WORDS + 4]; /* some more: an access may look at four words at once */
        uint8_t written[FILTER_WORDS + 4];
        uint8_t rest[16];
    } lines[1 << FILTER_LINES_BITS];
    /* The runtime's own: some of the tags that were pushed out of a table (filter.h). */
    struct heddle_filter_growth {
        uint64_t back;  /* how many of them were wanted again */
        uint64_t since; /* when the count began (TSC) */
        uint64_t gone[1 << FILTER_GONE_BITS];
    } of_units, of_lines;
};
#ifndef __cplusplus /* there the structs are inside of another one */
_Static_assert(sizeof(struct heddle_filter_units) == 1 << FILTER_UNITS_SHIFT, "masks count bytes");
_Static_assert(sizeof(struct heddle_filter_line) == 1 << FILTER_LINES_SHIFT, "a cache line");
#endif

struct heddle_frame {
    uint64_t return_address;
    uint64_t site; /* of the function's entry */
};

/* The thread-local `__heddle_tls`, initial-exec. Offsets are part of the ABI. */
struct heddle_tls {
    struct heddle_filter *filter; /*  0: never NULL */
    uint64_t epoch;               /*  8: already shifted to its place; never 0 */
    struct heddle_frame *shadow;  /* 16: SHADOW_MASK + 1 frames; never NULL */
    uint32_t depth;               /* 24 */
    uint32_t low;                 /* 28 */
    struct ring_chunk *chunk;     /* 32: where a full build appends; never NULL */
    /* The rest is the runtime's own. */
    struct rt_thread *self; /* 40: NULL before the thread's first event */
    uint32_t busy;          /* 48: > 0: inside the runtime; signals wait, nothing is recorded */
    uint32_t ignore;        /* 52: > 0: user asked to ignore accesses (annotations) */
    uint32_t unit_mask;     /* 56: of offsets in the filter's tables */
    uint32_t line_mask;     /* 60 */
    uint64_t seen_stamp;    /* 64: full builds: the value of __heddle_newest last taken up */
    uint32_t edge;          /* 72: the depth at which a function is entered from untraced code */
    uint64_t lowest;        /* 80: ~ the lowest stack pointer that recorded (openmp_logical.c) */
};

/* `__heddle_newest`: the newest stamp of any thread's synchronisation. Where it is not the one last
 * seen, code of full builds calls __heddle_full(), which writes a later stamp: so an access that
 * follows an event of another thread, by whatever data flow, comes after it. */

/* One per translation unit, in section "heddle_modules" (flags: retained), not const.
 * A site of the module is `base + its index`; the table is in the object file (rt_sites.h). */
struct heddle_module {
    uint64_t id[2];
    uint32_t sites;
    uint32_t flags; /* MODULE_... */
    uint32_t base;  /* set by the runtime on registration */
    uint32_t known; /* by the runtime: base is set */
};
#define MODULES_SECTION "heddle_modules"
/* MODULE_NO_CALLS: calls of untraced code are not recorded (heddle-cc --no-calls). */
enum { MODULE_FULL = 1, MODULE_PRODUCTION = 2, MODULE_NO_CALLS = 4 };

/* Production builds: `what` of a hit. Bits 0-31 are the number of the site in its module's table.
 */
enum {
    HIT_WRITE = 1,
    HIT_UPDATE = 2,      /* a read, and then a write with the next site */
    HIT_ATOMIC = 4,      /* with HIT_WRITE and HIT_READS: an rmw */
    HIT_READS = 8,       /* atomic: reads */
    HIT_ORDER_SHIFT = 8, /* three bits: enum memory_order */
    /* in tables only (prod.h) */
    HIT_SITE = 1 << 14, /* the place is the access's own instruction, not a no-op */
    HIT_MORE = 1 << 15, /* the next entry is of the same place: its access comes with this one */
    HIT_ENTRY_BYTES_SHIFT = 16, /* where __heddle_site() is called: bytes; and how far behind */
    HIT_ENTRY_DELTA_SHIFT = 24, /* the instruction's address they begin */
    HIT_FLAGS_SHIFT = 32,
    HIT_BYTES_SHIFT = 48
};

/* Production builds: before the first instruction of a traced function, and then ~TRACED_MARK. */
#define TRACED_MARK UINT64_C(0x7274656c64646568)

/* Lists of the traced functions' addresses (void *) and of variables, per translation unit, in
 * writable sections; the first entry of each unit, and padding, is 0. The runtime sorts them. */
struct heddle_variable {
    uint64_t address;
    uint64_t extent; /* bytes, and EXTENT_PLAIN */
    const char *name;
    uint64_t state; /* the runtime's own */
};
#define FUNCTIONS_SECTION "heddle_functions"
#define VARIABLES_SECTION "heddle_variables"
#define EXTENT_PLAIN      (UINT64_C(1) << 63) /* its type has no room for a pointer */
#define EXTENT_LOCAL      (UINT64_C(1) << 61) /* on the stack of the calling function */
#define EXTENT_NUMBER     (UINT64_C(1) << 62) /* an integer that may be a pointer */

/* Calls of untraced code (docs/design/calls.md). A call passes at most so many pointers; the
 * tables `__heddle_targets` (functions that need no barriers) and `__heddle_logged` (where in
 * memory there are objects whose pointers the trace knows) are asked inline. */
enum {
    CALL_POINTERS_MAX = 24,
    TARGETS = 1024,
    TARGET_SHIFT = 4,
    LOGGED_BLOCKS = 1 << 16,
    LOGGED_SHIFT = 8
};

/* Entry points. Those marked * use clang's preserve_most calling convention. `site` is base +
 * index.
 *
 * void __heddle_register(struct heddle_module *start, struct heddle_module *stop)
 *      once per image, from a constructor of priority 0 (one COMDAT, hidden, per image)
 *
 * Accesses, called BEFORE the access in default builds:
 * *void __heddle_read{1,2,4,8,16}(void *address, uint32_t site)       aligned; and, for any
 *      alignment, *void __heddle_read{2,4,8,16}_unaligned(void *address, uint32_t site) ...
 * *void __heddle_write{1,2,4,8,16}(void *address, uint32_t site)
 * *void __heddle_update{1,2,4,8,16}(void *address, uint32_t site)     a read (site) and then a
 *      write (site + 1) of the same address, nothing between; inline check as for a write
 * *void __heddle_{read,write,update}{1,2,4,8,16}_loose(void *address, uint32_t site)   loose ones
 *      (docs/design/marks.md), of any alignment, and not asked about
 * *void __heddle_ask_{read,write,update}...(void *address, uint32_t site)    the same where code
 *      has not asked the filter: they do (objects of earlier versions; now the module has functions
 *      of its own that ask, pass/stub.c)
 * *void __heddle_{read,write}_{units,bytes}(void *address, uint64_t bytes, uint32_t site)
 *      consecutive accesses that a loop is going to make: aligned ones of 4 bytes and more, others
 * void __heddle_read_range(void *address, uint64_t bytes, uint32_t site)
 * void __heddle_write_range(void *address, uint64_t bytes, uint32_t site)
 *      other sizes, memory intrinsics; bytes may be 0
 * Full builds append reads and writes inline AFTER the access, with the value, a stretch of code at
 * a time (rt_stretch.h); *void __heddle_full(void) makes room when the chunk is full or the time
 * has moved on; ranges, and accesses without a value, are called as above.
 *
 * Atomics: the runtime performs them. N is 1, 2, 4, 8, 16 (bytes); T the unsigned type of that
 * size; order is enum memory_order of trace/event.h (1 relaxed .. 6 seq_cst).
 * T __heddle_atomic_load_N(T *p, uint32_t order, uint32_t site)
 * void __heddle_atomic_store_N(T *p, T value, uint32_t order, uint32_t site)
 * T __heddle_atomic_exchange_N(T *p, T value, uint32_t order, uint32_t site)
 * T __heddle_atomic_{add,sub,and,or,xor,nand,max,min,umax,umin}_N(T *p, T v, uint32_t order,
 * uint32_t site) all return the old value T __heddle_atomic_cas_N(T *p, T expected, T desired,
 * uint32_t order, uint32_t failure_order, uint32_t site) returns the old value; the caller compares
 * void __heddle_fence(uint32_t order, uint32_t site)
 * Atomic operations the list lacks (floating point, inline assembly with a lock prefix or xchg on
 * one memory operand) stand between
 * void __heddle_atomic_begin(void *p)                      holds p's sequence lock
 * void __heddle_atomic_end(void *p, uint32_t bytes, uint32_t order, uint32_t site)   an rmw
 * void __heddle_asm_end(...)                               the same, of assembly (hand.c)
 * void __heddle_hand_read(void *p, uint32_t bytes, uint32_t site)    after a read, and
 * void __heddle_hand_write(void *p, uint32_t bytes, uint32_t site)   before a write that is
 * volatile or in assembly
 *
 * Around syscall(SYS_fork, ...) and syscall(SYS_clone, flags, stack, ...):
 * void __heddle_forks(uint64_t flags, uint64_t stack), void __heddle_forked(uint64_t result)
 *
 * void __heddle_register_lists(void **functions, void **stop, struct heddle_variable *variables,
 *      struct heddle_variable *stop)       before __heddle_register
 *
 * Calls of untraced code. `words` are pairs: a pointer (or a number that may be one) and the bytes
 * of the object it points to with EXTENT_PLAIN, 0 if not known.
 * uint32_t __heddle_call(uint32_t site, const char *name, uint32_t pairs, const uint64_t *words)
 * uint32_t __heddle_call_function(uint32_t site, const char *name, uint32_t pairs,
 *      const uint64_t *words, void *f)     the same, where the linker found no mark of f
 * uint32_t __heddle_call_pointer(uint32_t site, void *target, uint32_t pairs,
 *      const uint64_t *words)              a function that is not in __heddle_targets
 * void __heddle_return(uint32_t site, uint64_t value)      after it, if that was not 0
 * void __heddle_result(uint32_t site, uint64_t value)      full builds: of a function that the
 *      runtime interposes or models
 * *void __heddle_stored(void *address, uint64_t bytes)     after a store of pointers, where
 *      __heddle_logged[address >> LOGGED_SHIFT & (LOGGED_BLOCKS - 1)] is not 0
 *
 * Production builds: no-ops that the runtime patches (prod.h); the block that is jumped to calls,
 * for each access of the stretch of code that follows,
 * *void __heddle_hit(void *address, uint64_t what, struct heddle_module *module)
 * *void __heddle_hit_range(void *address, uint64_t what, struct heddle_module *module,
 *      uint64_t bytes)
 *      and both with the suffix _all and the convention preserve_all;
 *      `what`: the site's number, flags << HIT_FLAGS_SHIFT, bytes << HIT_BYTES_SHIFT
 * __heddle_site, __heddle_site_avx: called by the stubs of patched instructions, keep all
 *      registers; rdi is the address, rsi the place's first entry in the table (prod.h)
 * __heddle_link, __heddle_link_avx: before them, where a pointer may be stored; rsi is the entry of
 *      the link, whose bytes are those stored, 24(%rsp) what is about to be stored
 * *void __heddle_link_store(void *address, uint64_t value) and others:
 * runtime/production/caper_links.c; links share the number of one site of the module, which is no
 * access void __heddle_register_patches(struct heddle_patch *start, struct heddle_patch *stop) once
 * per image, as __heddle_register
 *
 * Modelled libc functions (M and V in abi/rt_libc.h): the plugin turns a direct call of f in
 * traced code, when f is a declaration with that many parameters, into a call of
 *
 *     __heddle_f(args..., uint32_t site)
 *     __heddle_f(uint32_t site, args..., ...)     if f is variadic
 *
 * with the same result, which records what f reads and writes at that site, and calls f. The new
 * call loses the attributes of the old one (readonly, nounwind, tail ...): the function writes
 * memory, and blocking ones are cancellation points. For llvm.memcpy and the like the plugin emits
 * ranges itself.
 */

#endif
