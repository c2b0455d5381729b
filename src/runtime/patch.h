/* patch.h - what patch.c (which no-ops) and patch_text.c (how bytes change) share */
#ifndef HEDDLE_RUNTIME_PATCH_H
#define HEDDLE_RUNTIME_PATCH_H

#include "runtime/prod.h"

enum { NOP_BYTES = 5 };

/* A no-op. Sorted by address within an image; addresses are 0 when the image is gone. */
struct place {
    uintptr_t nop, target;
    uint32_t wanted; /* by how many entries */
    bool on;         /* is a jump now */
    bool change;     /* to be turned round by text_change() */
    uint8_t rest[2];
};

/* Is there a no-op that can be changed? */
HIDDEN bool text_is_nop(uintptr_t nop);
/* Turn all places with `change` set round, and clear it. 0, or an error number: then those that
 * could not be changed are as they were, and `change` is cleared, too. */
HIDDEN int text_change(struct place *places, size_t n);

#endif
