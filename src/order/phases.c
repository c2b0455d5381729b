/* phases.c - the phases of a barrier */
#include "order/phases.h"
#include "base/alloc.h"

#include <stdlib.h>

void phases_release(struct phases *p)
{
    free(p->list);
    map_release(&p->phase_of);
    *p = (struct phases){ 0 };
}

static uint32_t unused(struct phases *p)
{
    uint32_t n = 0;

    while (n < p->cap && p->list[n].used)
        n++;
    GROW(p->list, p->cap, (size_t)n + 1);
    return n;
}

uint32_t phases_enter(struct phases *p, uint32_t thread, bool *fresh)
{
    *fresh = !p->latest;
    if (*fresh) {
        p->latest = unused(p) + 1;
        p->list[p->latest - 1] = (struct phase){ .used = true };
    }
    p->list[p->latest - 1].inside++;
    return *map_put(&p->phase_of, thread, 0) = p->latest - 1;
}

uint32_t phases_leave(struct phases *p, uint32_t thread, bool *over)
{
    uint32_t *entered = map_get(&p->phase_of, thread), n = entered ? *entered : PHASE_GONE;

    if (n == PHASE_GONE)
        return n;
    *entered = PHASE_GONE;
    if (p->latest == n + 1)
        p->latest = 0;
    *over = --p->list[n].inside == 0;
    p->list[n].used = !*over;
    return n;
}
