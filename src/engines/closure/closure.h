/* closure.h - what events need when locks keep their order: the sync-preserving closure
 *
 * A set of events that holds a prefix of each thread can be replayed in the
 * order of the trace, as a correct reordering, when
 *   - what its events need is in it: hard edges, the allocation of the memory
 *     they touch, and the last writers that its reads saw;
 *   - for every lock, of the sections that it enters only the latest is left
 *     open: two sections of different threads, not both shared, and the
 *     release of the earlier one is in the set.
 * Then every read sees its writer and no section overlaps one that excludes
 * it. The closure of some events' pasts is the least such set. (Mathur,
 * Pavlogiannis, Viswanathan, POPL 2021.)
 *
 * Use:
 *     c = closure_new(true, events, &hooks)
 *     for each batch: memory_steps(m, &batch, &span); closure_feed(c, &batch, &span)
 *         hooks are called at accesses and acquires; keep the pasts of
 *         interest with closure_past_keep()
 *     closure_seal(c)
 *     x = closure_set_new(c)                     one per thread that asks
 *     closure_set_add(x, &past) ...              x is closed after each
 *     closure_set_has(x, &past)                  is that event in x?
 *     closure_set_list(x, list, max)             its events in trace order
 *
 * Time. A slot's events are cut into segments that end with an event others
 * can know of (a write, a lock event, a fork ...); the clock's own time
 * numbers them. A set is a time per slot: all segments up to that time, and
 * of the next one the events before the one whose past was added.
 *
 * Sections are those of the checker (docs/design/proof.md, "Locks"): a
 * release ends a section of its own thread; one that is never released ends
 * with its thread's end event, or with its last event before a join. One that
 * never ends excludes all later ones.
 *
 * Cost: feeding as shb without its comparisons, plus 48 bytes a section and
 * what its clock adds (clock.h); closing costs a few binary searches for each
 * lock held at the frontier, each time the set grows.
 * Concurrency: feeding is for one thread. After closure_seal() any number of
 * threads may ask, each with its own sets; pasts must be kept and dropped by
 * one thread.
 */
#ifndef HEDDLE_ENGINES_CLOSURE_CLOSURE_H
#define HEDDLE_ENGINES_CLOSURE_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "order/clock.h"
#include "order/step.h"
#include "trace/trace.h"

struct closure;

/* The past of an event: the earlier events of its thread and whatever they and the event itself
 * need (hard edges and allocations; not the writers that the event itself reads from). The event
 * is not part of it. */
struct closure_past {
    struct clock clock; /* of its thread just before; clock.slot and clock.time name its segment */
    uint64_t position;  /* of the event */
    uint32_t version;   /* equal for two events of one thread: it learned nothing in between;
                           0: not known */
};

/* Called while feeding; the past is valid during the call. NULL: not of interest. */
struct closure_hooks {
    void *arg;
    /* One call for each variable that an access touches (a free: the writes to its variables that
     * have been touched before, see also closure_freed()). OP_SPLIT steps come too. */
    void (*access)(void *arg, const struct step *s, const struct closure_past *past);
    /* An acquire of either kind that is not nested, or a request that never became one: `past` is
     * that of the request. */
    void (*acquire)(void *arg, const struct step *s, const struct closure_past *past);
    /* A release that is not nested. */
    void (*release)(void *arg, const struct step *s);
    /* The thread ends or is joined: it holds nothing any more. */
    void (*over)(void *arg, uint32_t thread);
    /* An access will come soon: fetch what you keep of its variable. */
    void (*ahead)(void *arg, const struct step *s);
};

/* `sections`: keep lock histories, needed for sets. `events`: of the first so many keep 4 bytes
 * each, for closure_set_list(). */
struct closure *closure_new(bool sections, uint64_t events, const struct closure_hooks *hooks);
void closure_free(struct closure *c);

/* A batch of events and the steps that memory_steps() made of it. */
void closure_feed(struct closure *c, const struct batch *b, const struct span *span);
/* The same without the events: then there is nothing to list. */
void closure_steps(struct closure *c, const struct span *span);
/* After the last event. */
void closure_seal(struct closure *c);

/* What the free of the block that a fresh variable lies in knew; false: not freed. Only inside
 * hooks. `site` may be NULL. */
bool closure_freed(struct closure *c, const struct step *s, struct closure_past *past,
                   uint32_t *site);

uint32_t closure_slots(const struct closure *c);
uint64_t closure_sections(const struct closure *c);

/* A copy that lasts; `to` need not be initialised. O(1). */
void closure_past_keep(struct closure *c, struct closure_past *to, const struct closure_past *from);
void closure_past_drop(struct closure *c, struct closure_past *p);
/* The same in less room, for very many: up to 16 slots 72 bytes for each version, not 264. Cannot
 * be dropped. */
void closure_past_pack(struct closure *c, struct closure_past *to, const struct closure_past *from);

/* ---- sets ---- */

struct closure_set;

struct closure_set *closure_set_new(const struct closure *c);
void closure_set_free(struct closure_set *x);
void closure_set_clear(struct closure_set *x);

/* Add the past of an event and all that the set then needs. False: no reordering that keeps the
 * order of sections holds all that was added since the last clear, because a section that never
 * ends stands before another one. */
bool closure_set_add(struct closure_set *x, const struct closure_past *p);

/* Is the event whose past this is in the set? */
bool closure_set_has(const struct closure_set *x, const struct closure_past *p);

/* How many events the set has, of those that are listed. O(slots log events). */
uint64_t closure_set_count(const struct closure_set *x);
/* All of them in trace order, closure_set_count() positions. */
void closure_set_list(const struct closure_set *x, uint64_t *list);

#endif
