/* patch.h - what patch.c (which places) and patch_text.c (how bytes change) share */
#ifndef HEDDLE_RUNTIME_PRODUCTION_PATCH_H
#define HEDDLE_RUNTIME_PRODUCTION_PATCH_H

#include "abi/abi.h"
#include "runtime/production/prod.h"

enum { NOP_BYTES = 5, HIT_ENTRY_FLAGS = HIT_SITE - 1 };

/* A no-op. Sorted by address within an image; addresses are 0 when the image is gone. */
struct place {
    uintptr_t nop, target;
    uint32_t wanted;             /* by how many entries */
    bool on;                     /* is a jump now */
    bool change;                 /* to be turned round by text_change() */
    uint8_t original[NOP_BYTES]; /* what is there when it is no jump */
    uint8_t rest[5];
};

/* Can the bytes there be changed? `any`: they need not be a no-op. Takes `original`. */
HIDDEN bool text_can_change(struct place *p, bool any);
struct text_changes {
    size_t on, off; /* places that have become jumps, and that are no longer */
    int error;
};
/* Turn all places with `change` set round, and clear it. With an error those that could not be
 * changed are as they were, and `change` is cleared, too. */
HIDDEN void text_change(struct place *places, size_t n, struct text_changes *t);

/* What a stub asks: does anybody want to hear of this? And the report, with the stub's stack; below
 * it is the return address. They keep all registers. */
__attribute__((preserve_all)) HIDDEN bool site_is_idle(const void *address,
                                                       const struct heddle_patch *e);
__attribute__((preserve_all)) HIDDEN void
site_hit(const void *address, const struct heddle_patch *e, const uintptr_t *stub);

#endif
