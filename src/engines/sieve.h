/* sieve.h - leave out the accesses that no engine can find a race on
 *
 * Most memory of a program is used by one thread at a time. Where hard edges
 * alone order all conflicting accesses of a word, every order that an engine
 * works with (hb, shb, sshb, cp, wcp, syncp, osr, mc) orders them too, the word
 * never makes a lock edge matter, and which write a read of it saw (or who
 * allocated it) tells nothing new. So the cascade makes no steps of such
 * accesses: numbering and engines need memory and time for the words that
 * matter. (lockset, which knows no hard edges, must see them all.)
 *
 *     sieve_prepare(s, batch, slot), sieve_learn(s, batch, slot)    first pass, every batch
 *     sieve_ready(s)           after it
 *     sieve_mark(s, batch)     later passes: sets EV_SIEVED where no step is needed
 *
 * Words are 8 aligned bytes. Atomic accesses always make steps; a plain access to such a word
 * matters like any other, and where it writes after an atomic: it ends a release sequence. Cost:
 * about that of fasttrack for the first pass, 32 bytes for 64 bytes in use, then one bit a word.
 */
#ifndef HEDDLE_ENGINES_SIEVE_H
#define HEDDLE_ENGINES_SIEVE_H

#include "order/step.h"
#include "trace/trace.h"

struct sieve;

/* `handovers`: no engine goes by values, so a read keeps its writer. */
struct sieve *sieve_new(bool handovers);
void sieve_free(struct sieve *s);

/* Engines to which synchronisation is enough see its steps during the first pass. */
void sieve_watch(struct sieve *s, void (*steps)(void *arg, const struct span *span), void *arg);
/* sieve_prepare() comes first, for each batch in turn; a thread that reads ahead may do it while
 * another one learns from batches before. It changes marks of the events, which nobody else must
 * use; what it finds out stays in the slot (< AHEAD_SLOTS) until that is used again. */
void sieve_prepare(struct sieve *s, struct batch *b, unsigned slot);
void sieve_learn(struct sieve *s, const struct batch *b, unsigned slot);
void sieve_ready(struct sieve *s);
/* After sieve_learn(): can some call of untraced code reach anything? */
bool sieve_lists_all(const struct sieve *s);
void sieve_mark(struct sieve *s, struct batch *b);
/* Events that are neither plain accesses nor function calls. */
uint64_t sieve_others(const struct sieve *s);
/* For trace_thin(): function calls, and plain accesses that sieve_mark() or sieve_mark_suspects()
 * would mark for sure. */
bool sieve_drops(void *sieve, const struct event *e);
bool sieve_drops_all_but_suspects(void *sieve, const struct event *e);
/* Can a call of untraced code of another thread reach what the access touches? It may matter to
 * rdit then, which looks at events, not at steps. */
bool sieve_listed(struct sieve *s, const struct event *access);
/* Accesses to other words that tell whether a thread is tainted (taints.h): who looks for schedules
 * needs them. Ascending; they stay the sieve's. */
size_t sieve_needed(const struct sieve *s, const uint64_t **positions);
/* Words that matter; after sieve_ready(). */
uint64_t sieve_words(const struct sieve *s);

/* Of these the suspects: words with conflicting accesses that hard edges leave unordered and no
 * lock protects. No engine finds a race on another one, in a trace whose locks exclude: which they
 * do not where its order is unknown, and sieve_knows_suspects() says no where a lock was given
 * back by another thread. */
bool sieve_knows_suspects(const struct sieve *s);
uint64_t sieve_suspects(const struct sieve *s);
/* As sieve_mark(), for engines that look at the races of hb alone: only suspects make steps. */
void sieve_mark_suspects(struct sieve *s, struct batch *b);

#endif
