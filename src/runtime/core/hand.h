/* hand.h - locks that a program makes by hand, of instructions in inline assembly (hand.c) */
#ifndef HEDDLE_RUNTIME_CORE_HAND_H
#define HEDDLE_RUNTIME_CORE_HAND_H

#include "runtime/untraced/objects.h"
#include "runtime/core/state.h"

extern HIDDEN bool rt_hand_locks; /* there are any */

/* Memory that ends: what was a lock there is none any more. */
HIDDEN void hand_forget(const void *p, uint64_t bytes);

/* An acquiring load of what was read just now; a releasing store of what is written next.
 * (atomic.c) */
HIDDEN void rt_hand_load(void *p, uint32_t bytes, uint64_t where);
HIDDEN void rt_hand_store(void *p, uint32_t bytes, uint64_t where);
EXPORT void __heddle_atomic_end(void *p, uint32_t bytes, uint32_t order, uint32_t site);

#endif
