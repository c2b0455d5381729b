/* stretch.h - the accesses and the branch of a stretch of code, and the record of them
 *
 * base/rt_stretch.h says what the record is. Full builds only.
 */
#ifndef HEDDLE_PASS_STRETCH_H
#define HEDDLE_PASS_STRETCH_H

#include "base/rt_stretch.h"
#include "pass/pass.h"

/* An access, and where its address comes from. */
struct stretch_access {
    struct item *item;
    LLVMValueRef root; /* the address is so many bytes from this value */
    int64_t offset;
    uint8_t from; /* as in struct sites_site, with from_offset */
    int32_t from_offset;
};

struct stretch {
    struct stretch_access at[STRETCH_ACCESSES_MAX];
    unsigned count;
    unsigned bytes; /* of the record, at most */
    const struct item *branch;
};

void stretch_clear(struct stretch *s);
/* Can a record have it: an access of 1, 2, 4 or 8 bytes with a value, or of 16 bytes? */
bool stretch_may_have(struct pass *p, const struct item *item);
/* False: there is no room for it in a record of so many bytes. */
bool stretch_add(struct pass *p, struct stretch *s, struct item *item, unsigned most_bytes);
/* Numbers the sites and emits the record's stores at the builder's position, to `place`; `outcome`
 * is the branch's, an i32. Returns the bytes of the record. */
unsigned write_stretch(struct pass *p, const struct stretch *s, LLVMValueRef place,
                       LLVMValueRef outcome);
void store_at(struct pass *p, LLVMValueRef place, unsigned offset, LLVMValueRef value);

#endif
