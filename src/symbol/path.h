/* path.h - the member of a variable at an offset: "[3].next.key" */
#ifndef HEDDLE_SYMBOL_PATH_H
#define HEDDLE_SYMBOL_PATH_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Append the path from a value of this type down to the smallest member that holds the bytes
 * [offset, offset + bytes). Returns the offset that is left within that member. */
uint64_t path_append(struct buf *b, const Dwarf_Die *type, uint64_t offset, uint64_t bytes);

/* The type of a variable or member, without typedefs and qualifiers; false where unknown. */
bool path_type(Dwarf_Die *die, Dwarf_Die *type);
/* Bytes of a type; 0 where unknown. */
uint64_t path_type_bytes(const Dwarf_Die *type);

#endif
