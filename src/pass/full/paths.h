/* paths.h - the blocks of a function in the order of their records, and where paths meet
 *
 * Full builds only. A record goes on in the next block if control can come there only from blocks
 * whose records can be made longer, all of them begun at the same place (stretch_code.h).
 */
#ifndef HEDDLE_PASS_FULL_PATHS_H
#define HEDDLE_PASS_FULL_PATHS_H

#include "pass/full/stretch_code.h"

struct flow_block {
    LLVMBasicBlockRef block; /* emitting keeps it: the one with the terminator */
    size_t first, end;       /* its items */
    size_t edges, nedges;    /* of flow.from: where control comes from */
    bool seen, done;
    bool joins;                /* it goes on with the record of those that it is reached from */
    bool tells;                /* ... and completes it, whichever way control goes in it */
    struct path *path;         /* at its end; NULL: no record can be made longer */
    LLVMValueRef head, cursor; /* the stores there that complete the record, if any */
};

struct flow {
    struct flow_block *at;
    uint32_t count;
    uint32_t *order; /* predecessors before their successors, but for loops */
    uint32_t *from;
    bool may_join;
};

/* Before anything but the entry's code is emitted. */
void flow_init(struct flow *f, struct pass *p, const struct items *items);
void flow_release(struct flow *f);
/* The path at the beginning of a block; false: a new one begins there. Emits what makes one of
 * several. */
bool flow_join(struct flow *f, struct pass *p, uint32_t block, unsigned most_bytes,
               struct path *path);
/* The block is done. */
void flow_leave(struct flow *f, uint32_t block, const struct path *path);
/* All blocks are done: takes away the stores that complete a record at the end of blocks behind
 * which it is always completed again. */
void flow_finish(struct flow *f);

#endif
