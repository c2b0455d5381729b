/* handles.h - which threads a pthread_t may stand for
 *
 * The program keeps the handle of each thread in the shared memory. Handles are used again, and the
 * writer comes later than the program: so all threads that have had a handle are candidates, the
 * newest HANDLES_MAX of them.
 * A zeroed struct is empty. Concurrency: none.
 */
#ifndef HEDDLE_RECORD_HANDLES_H
#define HEDDLE_RECORD_HANDLES_H

#include "base/map.h"
#include "record/ring.h"

enum { HANDLES_MAX = 8 };

struct handle_thread {
    uint32_t thread;
    uint32_t older; /* entry + 1 of the next older one with the same handle */
};

struct handles {
    struct map index; /* handle -> entry + 1 */
    struct handle_thread *entries;
    size_t count, cap;
    uint32_t *open; /* threads that have none yet */
    size_t nopen, open_cap;
    uint32_t seen; /* threads below this are in one of the two */
};

void handles_release(struct handles *h);
/* The threads that have had this handle, the newest first; how many. */
size_t handles_find(struct handles *h, const struct ring *r, uint64_t handle,
                    uint32_t threads[HANDLES_MAX]);

#endif
