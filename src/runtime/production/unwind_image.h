/* unwind_image.h - in which image an instruction lies, and where its unwind tables are
 *
 * The C library knows from 2.35 on (_dl_find_object: no lock). Where it is older, and in static
 * programs, there is a table of our own, made by dl_iterate_phdr() whenever images are known to
 * have come or gone; a library without sites that was opened since is not in it, and ends stacks.
 *
 * Concurrency: looking up takes no lock and may be done in handlers; a look-up while the table
 * changes may find nothing.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_UNWIND_IMAGE_H
#define HEDDLE_RUNTIME_PRODUCTION_UNWIND_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct unwind_image {
    const uint8_t *header;    /* .eh_frame_hdr */
    const uint8_t *low, *end; /* memory that it and .eh_frame lie in, and that can be read */
};

bool unwind_image_find(uintptr_t pc, struct unwind_image *out);
void unwind_image_update(void); /* images came or went */

#endif
