/* locklife.c - when a lock is there to be taken, and by whom */
#include "report/locklife.h"
#include "base/alloc.h"
#include "base/sorted.h"
#include "trace/tables.h"

#include <stdlib.h>

void locklives_release(struct locklives *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i].begins);
    free(l->list);
    *l = (struct locklives){ 0 };
}

void locklives_want(struct locklives *l, uint64_t target)
{
    if (is_named(target))
        return;
    GROW(l->list, l->cap, l->count + 1);
    l->list[l->count++] =
        (struct locklife){ .target = target, .taker = UINT32_MAX, .stack = UINT32_MAX };
}

void locklives_seal(struct locklives *l)
{
    size_t kept = 0;

    if (l->count)
        qsort(l->list, l->count, sizeof(*l->list), sorted_compare);
    for (size_t i = 0; i < l->count; i++)
        if (kept == 0 || l->list[kept - 1].target != l->list[i].target)
            l->list[kept++] = l->list[i];
    l->count = kept;
}

/* How many targets are below an address. */
static size_t below(const struct locklives *l, uint64_t address)
{
    return address ? sorted_up_to(l->list, l->count, sizeof(*l->list), address - 1) : 0;
}

static bool holds(const struct history_thread *t, uint64_t target)
{
    for (size_t i = 0; i < t->nlocks; i++)
        if (t->locks[i].target == target)
            return true;
    return false;
}

static void begin_life(struct locklife *life, uint64_t position)
{
    GROW(life->begins, life->begins_cap, life->nbegins + 1);
    life->begins[life->nbegins++] = position;
}

static void begin_lives(struct locklives *l, struct history *h, const struct event *ev,
                        uint64_t position, bool is_stack)
{
    uint64_t bytes = ev->op == OP_WRITE ? ev->size : ev->value;

    for (size_t i = below(l, ev->target);
         i < l->count && l->list[i].target - ev->target < (bytes ? bytes : 1); i++) {
        if (ev->op == OP_WRITE && holds(history_of(h, ev->thread), l->list[i].target))
            continue;
        begin_life(&l->list[i], position);
        if (ev->op != OP_WRITE)
            l->list[i].stack = is_stack ? ev->thread : UINT32_MAX;
    }
}

static void note_taker(struct locklife *life, uint32_t thread)
{
    if (life->taker == UINT32_MAX)
        life->taker = thread;
    life->several |= life->taker != thread;
}

static struct locklife *locklife_find(const struct locklives *l, uint64_t target)
{
    size_t i = below(l, target);

    return i < l->count && l->list[i].target == target ? &l->list[i] : NULL;
}

void locklives_event(struct locklives *l, struct history *h, const struct event *ev,
                     uint64_t position, bool is_stack)
{
    struct locklife *life;

    if (l->count == 0)
        return;
    if (ev->op == OP_WRITE || ev->op == OP_ALLOC || ev->op == OP_FREE)
        begin_lives(l, h, ev, position, is_stack);
    else if ((ev->op == OP_ACQUIRE || ev->op == OP_ACQUIRE_SHARED) &&
             (life = locklife_find(l, ev->target)))
        note_taker(life, ev->thread);
}

const struct locklife *locklives_get(const struct locklives *l, uint64_t target)
{
    return locklife_find(l, target);
}

bool locklife_spans(const struct locklife *life, uint64_t from, uint64_t to)
{
    size_t before = sorted_first_from(life->begins, life->nbegins, from);

    return before == sorted_up_to(life->begins, life->nbegins, sizeof(*life->begins), to);
}
