/* stretch_code.h - the accesses and the branch of a stretch of code, and the record of them
 *
 * abi/rt_stretch.h says what the record is. Full builds only.
 *
 * A path grows block by block. Up to where paths last met (its segment) it is the same whichever
 * way control came; only there addresses may follow from others.
 */
#ifndef HEDDLE_PASS_FULL_STRETCH_CODE_H
#define HEDDLE_PASS_FULL_STRETCH_CODE_H

#include "abi/rt_stretch.h"
#include "pass/pass.h"

enum { PATHS_MAX = 16 /* that lead to a block: each is a line of the site table */ };

/* An access, and where its address comes from. */
struct stretch_access {
    struct item *item;
    LLVMValueRef root, index; /* the address is root + index * scale + offset; index NULL: 0 */
    uint64_t scale;
    int64_t offset;
    unsigned position; /* in the segment, branches counted */
    uint8_t from;      /* as in struct sites_site, with from_offset */
    int32_t from_offset;
    bool told; /* so is its value: as SITE_VALUE says */
    uint8_t value_from;
    int32_t value_offset;
};

struct stretch {
    struct stretch_access at[STRETCH_ACCESSES_MAX]; /* of the segment */
    unsigned count, written;                        /* the record has the first `written` of them */
    unsigned entries;                               /* accesses and branches of the segment */
    unsigned most_events;                           /* of the whole path, the longest way */
    unsigned most_bytes;                            /* of its record */
    struct stretch_room room;                       /* where the segment's next data goes */
    const struct item *branch;                      /* to be written */
    bool exits;                                     /* the function's exit, to be written */
};

/* The record of a path, and where it stands. */
struct path {
    bool open;              /* there is a record, and it can be made longer */
    bool joins;             /* the segment began with a meeting of paths, nothing is written */
    LLVMValueRef chunk, at; /* the record is `at` bytes behind the chunk's beginning */
    LLVMValueRef base;      /* bytes of the record before the segment */
    LLVMValueRef index;     /* i32: on which of the paths control came here */
    unsigned paths;         /* how many there are */
    struct path_from {
        uint32_t stretch; /* + 1: the record so far; 0: none */
        uint32_t outcome; /* + 1: how the branch at its end goes here; 0: there is none */
    } from[PATHS_MAX];
    const struct item *decides; /* the branch at its end; the edges taken tell its outcome */
    bool enters;                /* it begins with the function's entry */
    LLVMValueRef entry;         /* ... whose word is still to be written */
    struct stretch stretch;
};

void path_begin(struct pass *p, struct path *path);
/* It begins with the function's entry: the word of it (rt_stretch.h). */
void path_enter(struct path *path, LLVMValueRef entry);
/* Can a record have it: an access of 1, 2, 4 or 8 bytes with a value, or of 16 bytes? */
bool stretch_may_have(struct pass *p, const struct item *item);
/* False: there is no room for it in a record of so many bytes. */
bool stretch_add(struct pass *p, struct stretch *s, struct item *item, unsigned most_bytes);
/* Something that the record does not have yet? */
bool path_is_new(const struct path *path);
/* Numbers the sites and emits the record's stores at the builder's position; `outcome` is the
 * branch's, an i32. The store of the first word. */
LLVMValueRef write_stretch(struct pass *p, struct path *path, LLVMValueRef outcome);
/* At the builder's position: where the record ends, as `at`. */
LLVMValueRef path_end(struct pass *p, const struct path *path);
/* The path on the edge to another block: with its branch decided. */
void path_decide(struct path *path, unsigned outcome);

LLVMValueRef place_in(struct pass *p, LLVMValueRef chunk, LLVMValueRef at);
void store_at(struct pass *p, LLVMValueRef place, unsigned offset, LLVMValueRef value);

#endif
