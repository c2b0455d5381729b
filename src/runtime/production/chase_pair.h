/* chase_pair.h - the pair of a run: which sites are s1 and s2, and sightings of it
 *
 * Shared by chase, litehb and fullhb. The control file names the sites; here they get the numbers
 * they have in this process, are patched, and are looked up when they are hit. Each side may be
 * several sites, and a site may be on both sides (a self pair).
 *
 * Locks: pair_lock protects the lists and what is patched; patch.c's own lock is taken inside. It
 * is never held while another lock of a mode is. Concurrency: pair_role() may be called at any
 * time; it takes no lock.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_CHASE_PAIR_H
#define HEDDLE_RUNTIME_PRODUCTION_CHASE_PAIR_H

#include "runtime/production/prod.h"

/* ---- a lock that sleeps ----
 * Not the spin locks of rt.h: a thread of a higher real-time priority that spins would keep the
 * owner from the processor for good. */
struct pair_mutex {
    uint32_t state; /* 0 free, 1 taken, 2 taken and others may wait */
};
HIDDEN void pair_mutex_lock(struct pair_mutex *m);
HIDDEN void pair_mutex_unlock(struct pair_mutex *m);

/* ---- the pair ---- */

/* A site's part in it. */
struct pair_role {
    bool is[2];        /* s1, s2 */
    bool vain[2];      /* no loaded site of the other side could race with it */
    uint8_t number[2]; /* in the control file's list of that side */
};
HIDDEN struct pair_role pair_role(uint32_t site);

/* Take the sites of the control file: at start, when they changed, when modules came. All of them
 * are patched then. */
HIDDEN void pair_take_up(struct prod_control *c);
/* Patch or undo a side; sites on both sides go with s1. */
HIDDEN void pair_patch(unsigned side, bool on);
HIDDEN bool pair_is_patched(unsigned side);
HIDDEN uint32_t pair_generation(void); /* that was taken up */
HIDDEN void pair_forked(void);

/* ---- sightings ---- */

/* What is said of an access: the site, the thread, the address, the stack. */
HIDDEN void pair_side(struct prod_side *out, const struct prod_hit *h, const struct pair_role *role,
                      unsigned side);
/* Count a sighting of two sites, by their numbers, if there was one before; true if so. */
HIDDEN bool pair_count_again(uint32_t one, uint32_t two);
/* The pair was seen; takes the lock, and may ask the loader: hold nothing. */
HIDDEN void pair_report(const struct prod_side *one, const struct prod_side *two);

/* While it lasts the thread cannot be cancelled at any instruction, so that it leaves no lock taken
 * and no place occupied. Called busy; may end the thread when it ends. */
HIDDEN int pair_guard_begin(void);
HIDDEN void pair_guard_end(int guard);

#endif
