/* prod.h - production modes: patched sites, and what they are told
 *
 * A production build (heddle-cc --production) has a no-op at each memory access and nothing
 * else. When the runtime starts with a control file (base/rt_prod.h) it takes the mode named
 * there; the mode asks for sites to be patched, and from then on each execution of such a site
 * calls its hit(). Interposers feed the same mode through the events of rt.h: rt_sync(), rt_alloc()
 * and so on hand what happens to the mode when there is one, and record nothing.
 *
 *     interposers ──rt_sync, rt_alloc, rt_thread_*──▶ event.c ──▶ recording, or rt_mode->sync ...
 *     patched site ──__heddle_hit──▶ patch.c ──▶ rt_mode->hit
 *
 * All functions of a mode may be called by any thread at any time; they are called busy (rt.h),
 * except that hit() may block in a wait of its own (chase), and must be not busy then.
 * In production runs without a mode (PROD_OFF, or no control file) interposers cost a test.
 */
#ifndef HEDDLE_RUNTIME_PROD_H
#define HEDDLE_RUNTIME_PROD_H

#include "base/rt_prod.h"
#include "runtime/rt.h"

/* One no-op, in section "heddle_patch" (flags "aR?"), written by the plugin as inline assembly.
 * Offsets are from the member's own address. */
struct heddle_patch {
    int32_t nop;    /* to the 5-byte no-op */
    int32_t target; /* to the block that calls __heddle_hit() */
    int32_t module; /* to the struct heddle_module */
    uint32_t index; /* of the site in that module's table */
};
#define PATCH_SECTION "heddle_patch"

/* What a hit is about. */
struct prod_hit {
    uint64_t address;
    uint32_t bytes;
    uint32_t site; /* module->base + index: dense over the process */
    bool write, atomic;
    uint64_t pc;       /* in the access */
    const void *frame; /* frame pointer of the function that has the site */
};

struct rt_mode {
    const char *name;
    void (*start)(struct prod_control *c);   /* once, before main() where the loader lets us */
    void (*changed)(struct prod_control *c); /* generation is even again: other sites, numbers */
    void (*hit)(const struct prod_hit *h);
    /* Any of these may be NULL. As in rt.h. */
    void (*sync)(enum op op, uint64_t object);
    void (*atomic)(const void *address, uint32_t bytes, unsigned order, enum op op);
    void (*alloc)(uint64_t address, uint64_t bytes);
    void (*free)(uint64_t address, uint64_t bytes_or_0);
    void (*thread_fork)(uint32_t child);
    void (*thread_begin)(uint32_t thread, uint64_t stack, uint64_t stack_bytes);
    void (*thread_end)(void);
    void (*thread_join)(uint32_t child);
    void (*images)(void); /* modules came or went */
    void (*forked)(void); /* in a child process: what is there belongs to the parent */
};
/* The mode in force, NULL: none. Set once, at start. */
extern HIDDEN const struct rt_mode *rt_mode;
extern HIDDEN struct prod_control *rt_control;
extern HIDDEN const struct rt_mode mode_chase, mode_litehb, mode_fullhb, mode_caper, mode_alias;

/* ---- patch.c ---- */

/* Patch (or undo) all places of these sites, while other threads run. The number of places; -1:
 * text cannot be changed, errno and rt_control->patch_errno say why. */
HIDDEN int patch_sites(const uint32_t *sites, size_t n, bool on);
HIDDEN int patch_all(bool (*wanted)(uint32_t site, void *arg), void *arg, bool on);
/* The dense number of a site, or -1: no loaded module has it. */
HIDDEN int64_t patch_find(const struct prod_site *s);
/* And back; false: unknown. */
HIDDEN bool patch_name(uint32_t site, struct prod_site *s);
HIDDEN uint32_t patch_count(void); /* dense numbers are below it */

/* ---- prod.c ---- */

HIDDEN uint32_t prod_backtrace(const struct prod_hit *h, uint64_t *frames, uint32_t room);
/* Make sure that the images that hold these are in the control file. */
HIDDEN void prod_note_images(const uint64_t *frames, uint32_t n);
/* A slot for a sighting, or NULL (counted); set `ready` when it is complete. */
HIDDEN struct prod_sighting *prod_sighting(void);

#endif
