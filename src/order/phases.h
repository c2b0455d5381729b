/* phases.h - the phases of a barrier: who waits for whom
 *
 * A phase takes enters until its first leave. A thread leaves the phase that it entered last.
 * Phases have small numbers, for which callers keep what they know of them; a number is used again
 * when everybody has left its phase. A zeroed struct is a barrier that nobody has entered.
 */
#ifndef HEDDLE_ORDER_PHASES_H
#define HEDDLE_ORDER_PHASES_H

#include "base/map.h"

#include <stdbool.h>

#define PHASE_GONE UINT32_MAX

struct phases {
    struct phase {
        uint32_t inside; /* entered and not left */
        bool used;
    } *list;
    size_t cap;
    uint32_t latest;     /* number + 1 of the one that takes enters, 0: none */
    struct map phase_of; /* thread -> phase it entered last */
};

void phases_release(struct phases *p);

/* The phase that the thread enters; a new one is `fresh`. */
uint32_t phases_enter(struct phases *p, uint32_t thread, bool *fresh);
/* The phase that it leaves; PHASE_GONE: it left without entering. `over`: it was the last one. */
uint32_t phases_leave(struct phases *p, uint32_t thread, bool *over);

#endif
