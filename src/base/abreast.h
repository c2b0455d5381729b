/* abreast.h - the same work by several threads, the calling one among them
 *
 * Where not all threads can be had, those that there are do it.
 */
#ifndef HEDDLE_BASE_ABREAST_H
#define HEDDLE_BASE_ABREAST_H

#include <stddef.h>

/* work() with each of n >= 1 items of that many bytes, the first in the calling thread; returns
 * when all are done. */
void abreast(unsigned n, void *(*work)(void *item), void *items, size_t item_bytes);

#endif
