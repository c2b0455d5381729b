/* sieve.h - leave out the variables that no engine can find a race on
 *
 * Most memory of a program is used by one thread at a time. Where hard edges
 * alone order all conflicting accesses of a variable, every order that an
 * engine works with (hb, shb, sshb, cp, wcp, syncp, osr, mc) orders them too,
 * the variable never makes a lock edge matter, and which write a read of it saw
 * (or who allocated it) tells nothing new. So the cascade does not see its steps at all: engines need
 * memory and time for the variables that matter. (lockset, which knows no hard
 * edges, must see them all.)
 *
 *     sieve_learn(s, span)     first pass, every span
 *     sieve_ready(s)           from here on the second pass
 *     sieve_apply(s, span)     the span without what does not matter
 *     sieve_ready(s)           and so on for further passes, which give the same
 *
 * Variables that are accessed atomically always stay.
 * Cost: about that of fasttrack for the first pass; 5 bytes a life of a
 * variable (order/lives.h). Numbers of variables are dense again afterwards.
 */
#ifndef HEDDLE_ENGINES_SIEVE_H
#define HEDDLE_ENGINES_SIEVE_H

#include "order/step.h"

struct sieve;

struct sieve *sieve_new(void);
void sieve_free(struct sieve *s);

void sieve_learn(struct sieve *s, const struct span *span);
void sieve_ready(struct sieve *s);
/* The span is changed in place: it has its own steps, which are valid until the next call. */
void sieve_apply(struct sieve *s, struct span *span);

/* Accesses seen by sieve_apply(), and those left out. */
uint64_t sieve_seen(const struct sieve *s);
uint64_t sieve_dropped(const struct sieve *s);

#endif
