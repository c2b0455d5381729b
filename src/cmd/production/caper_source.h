/* caper_source.h - which file the static pairs of a state were read from
 *
 * A run that names `--static FILE` would read FILE each time, and it may be large (19 MB of text
 * for zstd: 150 ms). So beside the state a line says which file its pairs came from, as it was
 * then.
 */
#ifndef HEDDLE_CMD_PRODUCTION_CAPER_SOURCE_H
#define HEDDLE_CMD_PRODUCTION_CAPER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Were the pairs `pairs_id` of this state read from the file as it is now? */
bool caper_source_is(const char *state, const char *file, uint64_t pairs_id);
/* They were. Failures do not matter: the file is read again. */
void caper_source_keep(const char *state, const char *file, uint64_t pairs_id);

#endif
