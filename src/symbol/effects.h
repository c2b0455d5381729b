/* effects.h - what calls of untraced code may do, from the machine code of a process's images
 *
 *     struct effects *e = effects_new();
 *     effects_add(e, "/lib/libz.so.1", base, low, high);   each image, in the order of loading
 *     effects_make(e, &table);                             struct effects_table and what follows
 *     effects_free(e);
 *
 * What a function may do includes what its callees do, in all images. A call through a pointer may
 * lead to every function whose address is somewhere. Functions of the C and C++ library are those
 * of abi/rt_libc.h; functions of traced code do nothing here, since they are recorded.
 * Files are read once. docs/design/effects.md.
 */
#ifndef HEDDLE_SYMBOL_EFFECTS_H
#define HEDDLE_SYMBOL_EFFECTS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;

struct effects *effects_new(void);
void effects_free(struct effects *e);

/* `base` is added to the file's addresses. An image at an address where another one was takes its
 * place. */
void effects_add(struct effects *e, const char *path, uint64_t base, uint64_t low, uint64_t high);

/* Appends the table for all images. */
void effects_make(struct effects *e, struct buf *out);

#endif
