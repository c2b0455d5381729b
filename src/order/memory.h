/* memory.h - from addresses to variables: events become steps
 *
 * A variable is a set of bytes that have been accessed together so far, inside
 * one aligned 8-byte word or, where accesses are wide, whole words of one page.
 * The first access to untouched bytes makes a variable of them; an access to a
 * part of a variable splits it in two with the same history (OP_SPLIT); an
 * access that covers several variables gives a step for each. So overlap is exact to the byte, and
 * a variable never changes what it is for an engine that handles splits.
 *
 * Lifetimes: free is a write to each variable in its range (and to those
 * that come to light later), alloc forgets what its bytes held; a number is
 * used again later with STEP_FRESH.
 *
 * Synchronisation objects are numbered per kind and target.
 * Cost: a direct-mapped page cache, then one load a word; 8 bytes of table
 * per word of a touched 4 KiB page. Wide accesses look at each word they
 * cover, but engines see a step for each page of them that nobody divides.
 */
#ifndef HEDDLE_ORDER_MEMORY_H
#define HEDDLE_ORDER_MEMORY_H

#include "order/step.h"
#include "trace/trace.h"

struct memory;

struct memory *memory_new(void);
void memory_free(struct memory *m);

/* Turn a batch into steps. The span is valid until the next call. */
void memory_steps(struct memory *m, const struct batch *b, struct span *out);

#endif
