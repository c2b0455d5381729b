/* prod.h - production modes: patched sites, and what they are told
 *
 * A production build (heddle-cc --production) leaves room to patch each memory access and
 * nothing else: most are patched in their own instruction, others have a no-op in front. When the
 * runtime starts with a control file (abi/rt_prod.h) it takes the mode named there; the mode asks
 * for sites to be patched, and from then on each execution of such a site calls its hit().
 * Interposers feed the same mode through the events of rt.h: rt_sync(), rt_alloc() and so on hand
 * what happens to the mode when there is one, and record nothing.
 *
 *     interposers ──rt_sync, rt_alloc, rt_thread_*──▶ event.c ──▶ recording, or rt_mode->sync ...
 *     patched site ──__heddle_hit──▶ patch.c ──▶ rt_mode->hit
 *
 * All functions of a mode may be called by any thread at any time; they are called busy (rt.h),
 * except that hit() may block in a wait of its own (chase), and must be not busy then.
 * In production runs without a mode (PROD_OFF, or no control file) interposers cost a test.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_PROD_H
#define HEDDLE_RUNTIME_PRODUCTION_PROD_H

#include "abi/rt_prod.h"
#include "runtime/core/benign.h"
#include "runtime/core/rt.h"

#include <time.h>

/* One site of a no-op, in section "heddle_patch" (flags "aR?"), written by the plugin as inline
 * assembly. Offsets are from the member's own address. Accesses of one straight stretch of code
 * share a no-op, so several entries may name the same; and one site may have several no-ops (copies
 * that the compiler made). */
struct heddle_patch {
    int32_t nop; /* to the 5-byte no-op, or the access's own instruction (HIT_SITE); never at 7 mod
                    8, so its first two bytes change at once */
    int32_t target; /* to the block that calls __heddle_hit() for each site of the no-op, or to the
                       stub that calls __heddle_site() and then makes the access */
    int32_t module; /* to the struct heddle_module */
    uint32_t index; /* of the site in that module's table */
    uint32_t what;  /* as in the call: HIT_* of abi.h; the bytes with stubs only */
};
#define PATCH_SECTION "heddle_patch"

/* Where the program came into the runtime: its registers after that call, from which its stack is
 * walked. */
struct prod_entry {
    uintptr_t pc, sp, bp;
};

/* Of a function of ours that the program called; its frame is __builtin_frame_address(0). */
static inline struct prod_entry prod_entry(const void *frame)
{
    const uintptr_t *f = frame;

    return (struct prod_entry){ f[1], (uintptr_t)(f + 2), f[0] };
}

/* What a hit is about: an access that the thread is about to make, after at most a few other
 * accesses of the same straight stretch of code (no call, no atomic, no branch between). */
struct prod_hit {
    uint64_t address;
    uint64_t bytes; /* 0: a fence */
    uint32_t site;  /* module->base + index: dense over the process */
    bool read, write;
    bool atomic;
    bool call;     /* of the C library: told before or after, once it is known what it touches */
    uint8_t op;    /* atomic: OP_LOAD, OP_STORE, OP_RMW, OP_FENCE; else OP_READ or OP_WRITE */
    uint8_t order; /* atomic: enum memory_order; for OP_RMW the stronger of both */
    uint64_t pc;   /* in the access */
    struct prod_entry from;
};

/* The program said that it does not count (annotate.c), as in a recording; atomic operations order
 * other accesses, and do. */
static inline bool prod_is_excused(const struct prod_hit *h)
{
    return !h->atomic &&
           (unlikely(__heddle_tls.ignore) || is_benign((const void *)h->address, h->bytes));
}

struct rt_mode {
    const char *name;
    void (*start)(struct prod_control *c);   /* once, before main() where the loader lets us */
    void (*changed)(struct prod_control *c); /* generation is even again: other sites, numbers */
    /* Of sites that are patched only (patch_sites), busy. It keeps errno. */
    void (*hit)(const struct prod_hit *h);
    /* Any of these may be NULL. As in rt.h. */
    void (*sync)(enum op op, uint64_t object);
    void (*alloc)(uint64_t address, uint64_t bytes);
    void (*free)(uint64_t address, uint64_t bytes_or_0);
    void (*thread_fork)(uint32_t child);
    void (*thread_begin)(uint32_t thread, uint64_t stack, uint64_t stack_bytes);
    void (*thread_end)(void);
    void (*thread_join)(uint32_t child);
    void (*images)(void); /* modules came: new dense numbers, old ones are never reused */
    void (*gone)(void);   /* an image goes: its code is not called any more */
    void (*forked)(void); /* in a child process: what is there belongs to the parent */
    void (*tick)(void);   /* ten times a second, by our own thread, once the program has threads */
    void (*end)(void);    /* at exit() */
};
/* The mode in force, NULL: none. Set once, at start. */
extern HIDDEN const struct rt_mode *rt_mode;
extern HIDDEN struct prod_control *rt_control;
extern HIDDEN size_t rt_control_bytes; /* of the mapping: what is behind the struct is the mode's */
/* Weak: a mode that is not linked in is not there. */
extern HIDDEN const struct rt_mode mode_chase __attribute__((weak)),
    mode_litehb __attribute__((weak)), mode_fullhb __attribute__((weak)),
    mode_caper __attribute__((weak)), mode_alias __attribute__((weak));
extern HIDDEN const struct rt_mode mode_count;

/* ---- patch.c ---- */

/* Want (or no longer want) hits of these sites, while other threads run: no-ops that some wanted
 * site has become jumps. From then on hits of exactly the wanted sites come. The number of no-ops
 * changed; -1: text cannot be changed, errno and rt_control->patch_errno say why. May be called
 * from hit(), any thread; takes tens of microseconds. Sites of modules that come later are not
 * included: see images(). */
HIDDEN int patch_sites(const uint32_t *sites, size_t n, bool on);
HIDDEN int patch_all(bool (*wanted)(uint32_t site, void *arg), void *arg, bool on);
/* The dense number of a site, or -1: no loaded module has it. */
HIDDEN int64_t patch_find(const struct prod_site *s);
/* And back; false: unknown. */
HIDDEN bool patch_name(uint32_t site, struct prod_site *s);
/* The modules that have come so far, from 0; no sites: it is gone again. */
struct prod_module {
    uint64_t id[2];
    uint32_t base, sites; /* dense numbers of its sites */
};
HIDDEN bool patch_module(uint32_t i, struct prod_module *m);
HIDDEN uint32_t patch_count(void); /* dense numbers are below it */
/* What the site does, without executing it: kind, size not included; false: unknown. */
HIDDEN bool patch_look(uint32_t site,
                       struct prod_hit *h); /* site, read, write, atomic, op, order */
HIDDEN bool patch_is_on(uint32_t site);

/* ---- prod.c ---- */

/* The calling thread's number in this process, from 0; given when first asked for. */
HIDDEN uint32_t prod_thread(void);
HIDDEN uint64_t prod_clock_ns(clockid_t clock);
HIDDEN uint64_t prod_now_ns(void); /* CLOCK_MONOTONIC */
HIDDEN uint32_t prod_backtrace(const struct prod_hit *h, uint64_t *frames, uint32_t room);
/* The calling thread's stack: what is on it can be read without asking. */
HIDDEN void prod_stack_is(uint64_t low, uint64_t bytes);
/* Make sure that the images that hold these are in the control file. */
HIDDEN void prod_note_images(const uint64_t *frames, uint32_t n);
/* A slot for a sighting, or NULL (counted); set `ready` when it is complete. */
HIDDEN struct prod_sighting *prod_sighting(void);

/* What the core tells prod.c; each tests nothing but rt_mode itself. */
HIDDEN void prod_start(const char *path); /* with the first image, options read */
HIDDEN void prod_images(void);
HIDDEN void prod_sync(enum op op, uint64_t object);
HIDDEN void prod_alloc(uint64_t address, uint64_t bytes);
HIDDEN void prod_free(uint64_t address, uint64_t bytes_or_0);
HIDDEN uint32_t prod_thread_fork(void);
HIDDEN void prod_thread_failed(uint32_t child);
HIDDEN void prod_thread_begin(uint32_t thread);
HIDDEN void prod_thread_end(void);
HIDDEN void prod_thread_exit(void); /* before syscall(SYS_exit) */
HIDDEN void prod_thread_join(uint32_t thread);
HIDDEN void prod_forked(void);
HIDDEN void patch_index(void);       /* images came */
HIDDEN void patch_fork_before(void); /* no patching is under way while a process forks */
HIDDEN void patch_fork_after(bool child);

#endif
