/* static_share.c - which objects several threads may reach, and how
 *
 * Shared is what can be reached from variables, from arguments and results of threads, from what is
 * sent to files and pipes, and from untraced code. A pointer may be in parts on its way: parts in
 * shared memory share an object only if somewhere a pointer to it is made of parts. What is reached
 * by pointers that were in parts or in disguise is hidden: a run cannot see who knows it.
 */
#include "base/alloc.h"
#include "static/static_inside.h"

#include <stdlib.h>

enum { SMALL_BYTES = 8 };

/* ---- pointers in parts and in disguise ---- */

static void rebuild_set(struct statics *s, const struct set *set)
{
    SET_EACH(set, l)
    s->objects[s->locations[l].object].rebuilt = true;
}

/* Does the object have a place where a pointer is loaded that lies over these bytes? */
static bool is_loaded(const struct statics *s, const struct location *at)
{
    for (uint32_t l = s->objects[at->object].first; l; l = s->locations[l - 1].next)
        if (s->locations[l - 1].out[WIDTH_POINTER] &&
            locations_meet(at, POINTER_BYTES, &s->locations[l - 1], POINTER_BYTES))
            return true;
    return false;
}

/* Objects to which pointers lead that were in parts: put together, or loaded as a whole. */
static void find_rebuilt(struct statics *s)
{
    rebuild_set(s, node_set(s, NODE_REBUILT));
    for (uint32_t i = 1; i < s->nlocations; i++) {
        const struct location *l = &s->locations[i];

        for (unsigned k = 0; k < WIDTHS_IN && location_has_parts(s, i); k++)
            if (k != WIDTH_POINTER && l->in[k] && node_set(s, l->in[k])->count && is_loaded(s, l))
                rebuild_set(s, node_set(s, l->in[k]));
    }
}

/* Pointers that were copied in parts to a variable, and are loaded there. In
 * what is larger bytes and pointers cannot be told apart: all of zstd would be hidden. */
static void hide_small(struct statics *s, uint32_t location)
{
    const struct location *l = &s->locations[location];
    uint64_t bytes = s->objects[l->object].bytes;

    for (unsigned k = 0; k < WIDTHS_IN && bytes && bytes <= SMALL_BYTES; k++)
        if (k != WIDTH_POINTER && l->in[k] && location_has_parts(s, location) && is_loaded(s, l))
            SET_EACH(node_set(s, l->in[k]), i)
    s->objects[s->locations[i].object].hidden = true;
}

/* A run sees neither these nor those in disguise. ANYWHERE stands for all that are known. */
static void find_hidden(struct statics *s)
{
    SET_EACH(node_set(s, NODE_DECODED), l)
    s->objects[s->locations[l].object].hidden = true;
    for (uint32_t i = 1; i < s->nlocations; i++)
        hide_small(s, i);
    for (uint32_t i = 0; i < s->nobjects; i++) {
        s->objects[0].hidden |= s->objects[i].hidden && s->objects[i].escaped;
    }
}

/* ---- shared objects ---- */

static void share(struct statics *s, uint32_t object, uint32_t *work, size_t *n)
{
    if (s->objects[object].shared || s->objects[object].kind == OBJECT_FUNCTION)
        return;
    s->objects[object].shared = true;
    work[(*n)++] = object;
}

static void share_set(struct statics *s, const struct set *set, uint32_t *work, size_t *n)
{
    SET_EACH(set, l)
    share(s, s->locations[l].object, work, n);
}

static void share_parts(struct statics *s, uint32_t node, uint32_t *work, size_t *n)
{
    SET_EACH(node_set(s, node), l)
    if (s->objects[s->locations[l].object].rebuilt)
        share(s, s->locations[l].object, work, n);
}

/* Parts of pointers count where a pointer is loaded from them, or put together. */
static void share_contents(struct statics *s, const struct location *l, uint32_t *work, size_t *n)
{
    if (l->in[WIDTH_POINTER])
        share_set(s, node_set(s, l->in[WIDTH_POINTER]), work, n);
    if (l->out[WIDTH_POINTER])
        share_set(s, node_set(s, l->out[WIDTH_POINTER]), work, n);
    for (unsigned k = 0; k < WIDTHS_IN; k++)
        if (k != WIDTH_POINTER && l->in[k])
            share_parts(s, l->in[k], work, n);
}

static void find_shared(struct statics *s)
{
    uint32_t *work = xcalloc(s->nobjects + 1, sizeof(*work));
    size_t n = 0;

    for (uint32_t i = 0; i < s->nobjects; i++)
        if (s->objects[i].kind == OBJECT_VARIABLE && !s->objects[i].thread_local_)
            share(s, i, work, &n);
    share(s, s->system, work, &n);
    share_set(s, node_set(s, NODE_WORLD), work, &n);
    share_set(s, node_set(s, NODE_HANDED), work, &n);
    share_set(s, node_set(s, NODE_RESULTS), work, &n);
    share_set(s, node_set(s, NODE_KEPT), work, &n);
    if (s->receives)
        share_set(s, node_set(s, NODE_CHANNEL), work, &n);
    share(s, s->mapping, work, &n);
    share(s, s->signal, work, &n);
    share_parts(s, NODE_PARTS, work, &n);
    share_parts(s, NODE_CHANNEL_PARTS, work, &n);
    while (n) {
        uint32_t o = work[--n];

        s->counters.shared++;
        for (uint32_t l = s->objects[o].first; l; l = s->locations[l - 1].next)
            share_contents(s, &s->locations[l - 1], work, &n);
    }
    free(work);
}

void statics_share(struct statics *s)
{
    find_rebuilt(s);
    find_shared(s);
    find_hidden(s);
}
