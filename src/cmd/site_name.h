/* site_name.h - sites as users type and see them
 *
 *     MMMMMMMM:N           module's id (its first 8 hexadecimal digits, or more), number in its
 * table FILE:LINE[:COLUMN]   every access there; FILE as a whole or the end of its path
 *
 * For a program and its libraries (symbol/linked.h). A name stands for a list: a line may hold
 * several accesses, and inlined or COMDAT code exists several times.
 */
#ifndef HEDDLE_CMD_SITE_NAME_H
#define HEDDLE_CMD_SITE_NAME_H

#include "base/buf.h"
#include "base/error.h"
#include "abi/rt_prod.h"
#include "symbol/linked.h"

#include <stdbool.h>

struct site_list {
    struct prod_site *at; /* owned; `flags` is the kind */
    size_t count, cap;
};
void site_list_release(struct site_list *s); /* a zeroed struct is empty */

/* Appends what the name means: accesses (reads, writes, atomics, calls of libc). -1: it is none,
 * or nothing is there; the error says which. */
int site_name_parse(const struct linked *l, const char *text, struct site_list *out,
                    struct error *err);
/* "S1,S2" as --pair has it: both lists. A side may be several names, "NAME+NAME+...". */
int site_pair_parse(const struct linked *l, const char *text, struct site_list out[2],
                    struct error *err);

/* "MMMMMMMM:N": how many digits, and the number; false: it is no such name. */
bool site_id_split(const char *text, size_t *digits, uint64_t *index);
/* Does the module's id begin with these digits? */
bool site_id_starts(const uint64_t module[2], const char *text, size_t digits);
bool site_is_access(uint32_t kind); /* enum site_kind */

/* Appends "0a1b2c3d:17". */
void site_name_add(struct buf *out, const struct prod_site *s);
/* Appends "write of counter in worker at prog.c:12:5", what is known of it. */
void site_phrase_add(struct buf *out, const struct linked *l, const struct prod_site *s);
const char *site_kind_word(uint32_t kind); /* "read", "write", "atomic", "libc" ... */

#endif
