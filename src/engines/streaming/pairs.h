/* pairs.h - the core of hb and shb: all pairs against the concurrent last accesses
 *
 * Algorithms 3 (HBP) and 4 (SHBP) of the SSHB paper (Sulzmann and Stadtmueller 2020),
 * appendix C. Per variable the sets cw and cr of mutually concurrent last
 * writes and reads; each access is compared with them. With `schedulable` a
 * read also learns the clock of the last write, after the check.
 */
#ifndef HEDDLE_ENGINES_STREAMING_PAIRS_H
#define HEDDLE_ENGINES_STREAMING_PAIRS_H

#include "engines/engine.h"
#include "order/hb.h"

struct pairs;

struct pairs *pairs_new(struct engine_result *result, bool schedulable);

/* These three stand in the engines' descriptors as they are; the state is a struct pairs. */
void pairs_free(void *state);
void pairs_steps(void *state, const struct span *span);
void pairs_finish(void *state);

/* Called for every access, when it has learned what it learns from synchronisation and before
 * it is compared or learns from the last write. For those who need the clocks themselves. */
typedef void pairs_probe(void *arg, struct hb *hb, const struct step *s, const struct hb_thread *t);
void pairs_set_probe(struct pairs *p, pairs_probe *probe, void *arg);
struct hb *pairs_hb(struct pairs *p);
struct engine_result *pairs_result(const struct pairs *p);

#endif
