/* reach.c - following objects and pointers, and searching from the roots of calls
 *
 * Changes are cheap: an object or a slot in a page (reach_map.h). The work is in the searches, and
 * most of them are spared: programs call the same functions with the same objects. A list is kept,
 * and the objects that it was made from know it; it holds until one of them changes, or an object
 * appears where one of its pointers led nowhere. If nothing can have been added to it, it may still
 * be used when there is no credit to make it anew: it then says too much, never too little.
 *
 * Until the first call, link or object nothing is followed: allocations are only noted, so traces
 * without calls pay for the noting alone.
 *
 * Conservative: a slot loses its pointer only when exactly its word is overwritten, or its object
 * is gone. A pointer leads to whatever object is there when the call is made, even if that is not
 * the one it was made for. Differs from the paper: it computes the object tree of each object once;
 * here a search starts from the roots of a call, because objects in C change their shape.
 */
#include "trace/calls/reach_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct reach *reach_new(const struct tables *tables, struct trace_info *info)
{
    struct reach *r = xcalloc(1, sizeof(*r));

    r->tables = tables;
    r->info = info;
    r->credit = CREDIT_MAX;
    r->era = 1;
    return r;
}

void reach_rewind(struct reach *r)
{
    reach_forget_lists(r);
    reach_map_release(&r->map);
    r->active = r->begun = false;
    r->nnotes = 0;
    r->appeared = 0;
    if (r->loose)
        memset(r->loose, 0, (size_t)1 << (REACH_HINT_BITS - 3));
    r->credit = CREDIT_MAX;
    r->events = r->earned = 0;
    r->info->objects = r->info->lists_given_up = 0;
}

void reach_free(struct reach *r)
{
    if (!r)
        return;
    reach_forget_lists(r);
    reach_map_release(&r->map);
    free(r->results);
    free(r->watchers);
    free(r->notes);
    free(r->loose);
    free(r->extra);
    free(r->met);
    free(r->nowhere);
    free(r->ranges);
    free(r->key);
    free(r->list);
    free(r);
}

/* ---- changes ---- */

/* Pointers to it may soon lead to something else: as if there was one to an unknown object. */
static void object_goes(void *reach, uint32_t object)
{
    reach_object_changes(reach, object, ADDRESS_LIMIT);
}

/* A word changed: of a small object, and perhaps of the large one around it. */
static void word_changes(struct reach *r, uint64_t address, uint64_t to)
{
    uint32_t object = reach_map_find(&r->map, address), large;

    reach_object_changes(r, object, to);
    large = r->map.nlarge ? reach_map_find_large(&r->map, address) : REACH_NONE;
    if (large != object)
        reach_object_changes(r, large, to);
}

/* A new object: pointers that led nowhere may lead here. */
static void object_appears(struct reach *r, uint64_t start, uint64_t end)
{
    const uint64_t page = (uint64_t)1 << REACH_PAGE_BITS;
    bool hit = end - start > REACH_SMALL_PAGES * page || reach_is_loose_page(r, end - 1);

    for (uint64_t a = start; !hit && a < end; a += page)
        hit = reach_is_loose_page(r, a);
    r->appeared += hit;
    if (r->map.nlarge)
        reach_object_changes(r, reach_map_find_large(&r->map, start), 0);
    if (r->map.live > r->info->objects)
        r->info->objects = r->map.live;
}

static void words_go(struct reach *r, uint64_t start, uint64_t end)
{
    if (reach_map_unlink(&r->map, start, end))
        word_changes(r, start, 0);
}

static bool is_large(uint64_t bytes)
{
    return bytes > (uint64_t)REACH_SMALL_PAGES << REACH_PAGE_BITS;
}

static void allocated(struct reach *r, uint64_t start, uint64_t bytes)
{
    bool fresh;

    if (is_large(bytes))
        reach_map_clear(&r->map, start, start + bytes, object_goes, r);
    reach_map_add(&r->map, start, start + bytes, true, &fresh, object_goes, r);
    words_go(r, start, start + bytes);
    object_appears(r, start, start + bytes);
}

static void freed(struct reach *r, uint64_t start, uint64_t bytes)
{
    uint32_t object = reach_map_find(&r->map, start);
    const struct reach_object *o = object == REACH_NONE ? NULL : &r->map.objects[object];

    if (o && o->start == start) {
        if (o->end - start > bytes)
            bytes = o->end - start;
        object_goes(r, object);
        reach_map_remove(&r->map, object);
    }
    if (!bytes)
        return;
    if (is_large(bytes))
        reach_map_clear(&r->map, start, start + bytes, object_goes, r);
    words_go(r, start, start + bytes);
}

/* An object as it is at this moment; its slots follow. */
static void told(struct reach *r, uint64_t start, uint64_t bytes)
{
    bool fresh;

    reach_map_add(&r->map, start, start + bytes, false, &fresh, object_goes, r);
    words_go(r, start, start + bytes);
    if (fresh)
        object_appears(r, start, start + bytes);
}

static void linked(struct reach *r, uint64_t address, uint64_t pointer)
{
    if (pointer < LOWEST_POINTER)
        pointer = 0;
    if (reach_map_link(&r->map, address, pointer))
        word_changes(r, address, pointer);
}

static bool is_in_image(const struct reach *r, uint64_t address)
{
    for (size_t i = 0; i < r->tables->nimages; i++)
        if (address >= r->tables->images[i].low && address < r->tables->images[i].high)
            return true;
    return false;
}

/* Is a value that was stored a pointer? Into an object, or to a variable not yet told of. */
static bool is_pointer(const struct reach *r, uint64_t value)
{
    if (value < LOWEST_POINTER || value >= ADDRESS_LIMIT)
        return false;
    if ((r->map.nlarge || reach_map_hint(&r->map, value)) &&
        reach_map_find(&r->map, value) != REACH_NONE)
        return true;
    return is_in_image(r, value);
}

/* A word was stored, and its value is known. Most are no pointers, where none was before. */
static void stored(struct reach *r, const struct event *ev)
{
    bool pointer = is_pointer(r, ev->value);

    if (is_named(ev->target) || (!pointer && !reach_map_hint(&r->map, ev->target)))
        return;
    if (!pointer || reach_map_find(&r->map, ev->target) != REACH_NONE)
        linked(r, ev->target, pointer ? ev->value : 0);
}

/* ---- calls ---- */

bool reach_is_raw(const struct event *call, const uint64_t *extra)
{
    for (uint64_t i = 0; i < call->old; i++)
        if (D_KIND(extra[call->value + 2 * i]) > D_ALL_KIND)
            return true;
    return false;
}

static size_t write_list(struct reach *r, const uint64_t *words, size_t n)
{
    size_t at = r->nextra;

    GROW(r->extra, r->extra_cap, r->nextra + n);
    if (n)
        memcpy(r->extra + at, words, n * sizeof(*words));
    r->nextra += n;
    return at;
}

static void set_list(struct event *ev, size_t at, size_t words)
{
    ev->value = at;
    ev->old = words / 2;
}

static void set_all(struct reach *r, struct event *ev)
{
    const uint64_t all[2] = { D_ENTRY(D_ALL_KIND, 0), 0 };

    if (r->all_era != r->era) {
        r->all_at = write_list(r, all, 2);
        r->all_era = r->era;
    }
    set_list(ev, r->all_at, 2);
}

/* What the call tells of objects is learned, the rest is its key. True: it may touch anything. */
static bool learn(struct reach *r, const struct event *ev, const uint64_t *extra)
{
    bool all = false;

    r->nkey = 0;
    for (uint64_t i = 0; i < ev->old; i++) {
        const uint64_t *e = extra + ev->value + 2 * i;

        switch (D_KIND(e[0])) {
        case D_EXTENT_KIND:
            told(r, D_LOW(e[0]), e[1]);
            break;
        case D_SLOT_KIND:
            linked(r, D_LOW(e[0]), e[1]);
            break;
        case D_ALL_KIND:
            all = true;
            break;
        default:
            GROW(r->key, r->key_cap, r->nkey + 2);
            r->key[r->nkey++] = e[0];
            r->key[r->nkey++] = e[1];
        }
    }
    return all;
}

static void expand(struct reach *r, struct event *ev, const uint64_t *extra)
{
    struct result *x;

    r->credit += r->credit < CREDIT_MAX ? CREDIT_CALL : 0;
    if (learn(r, ev, extra)) {
        set_all(r, ev);
        return;
    }
    if (!r->nkey) { /* only news */
        set_list(ev, 0, 0);
        return;
    }
    x = reach_answer(r);
    if (!x) {
        r->info->lists_given_up++;
        set_all(r, ev);
        return;
    }
    if (x->era != r->era) {
        x->at = write_list(r, x->words + x->nkey, x->nlist);
        x->era = r->era;
        r->credit -= (int64_t)x->nlist / 16;
    }
    set_list(ev, x->at, x->nlist);
    if (r->cached > CACHE_WORDS || r->nwatchers > WATCHERS_MAX)
        reach_forget_lists(r);
}

/* From here on all lists of the batch are in our own memory; those before move. */
static void take_over(struct reach *r, struct batch *b, size_t before)
{
    r->own = true;
    for (size_t i = 0; i < before; i++) {
        struct event *ev = &b->events[i];

        if (ev->op == OP_CALL)
            ev->value = write_list(r, ev->old ? b->extra + ev->value : NULL, 2 * ev->old);
    }
}

static void call(struct reach *r, struct batch *b, size_t i)
{
    struct event *ev = &b->events[i];
    bool raw = reach_is_raw(ev, b->extra);

    if (raw && !r->own)
        take_over(r, b, i);
    if (raw)
        expand(r, ev, b->extra);
    else if (r->own)
        ev->value = write_list(r, ev->old ? b->extra + ev->value : NULL, 2 * ev->old);
}

/* ---- events ---- */

#define BIT(op) ((uint64_t)1 << (op))

static const uint64_t followed_ops =
    BIT(OP_ALLOC) | BIT(OP_FREE) | BIT(OP_CALL) | BIT(OP_LINK) | BIT(OP_OBJECT);
static const uint64_t store_ops = BIT(OP_WRITE) | BIT(OP_STORE) | BIT(OP_RMW);

/* Begin to follow: first what was noted. */
static void activate(struct reach *r)
{
    r->active = true;
    for (size_t i = 0; i < r->nnotes; i++) {
        if (r->notes[i].alloc)
            allocated(r, r->notes[i].start, r->notes[i].bytes);
        else
            freed(r, r->notes[i].start, r->notes[i].bytes);
    }
    free(r->notes);
    r->notes = NULL;
    r->nnotes = r->notes_cap = 0;
}

void reach_follow(struct reach *r)
{
    if (!r->active)
        activate(r);
}

/* Objects and slots as they were where a beginning that is gone ends: blocks, then what calls have
 * told of, then what these hold. */
static void begin_at_seam(struct reach *r)
{
    const struct seam *c = &r->tables->seam;

    r->begun = true;
    if (!c->count)
        return;
    reach_follow(r);
    for (enum seam_kind kind = SEAM_BLOCK; kind <= SEAM_SLOT; kind++)
        for (size_t i = 0; i < c->count; i++) {
            const struct seam_entry *e = &c->entries[i];

            if (e->kind != kind)
                continue;
            if (kind == SEAM_BLOCK)
                allocated(r, e->key, e->value);
            else if (kind == SEAM_OBJECT)
                told(r, e->key, e->value);
            else
                linked(r, e->key, e->value);
        }
}

void reach_seam(const struct reach *r, struct seam *c)
{
    const struct reach_map *m = &r->map;

    for (size_t i = 0; i < m->nobjects; i++)
        if (m->objects[i].end && !m->objects[i].block)
            seam_add(c, SEAM_OBJECT, m->objects[i].start, m->objects[i].end - m->objects[i].start);
    for (size_t i = 0; i < m->npages; i++)
        for (size_t k = 0; k < m->pages[i].nslots; k++)
            if (m->pages[i].slots[k].pointer)
                seam_add(c, SEAM_SLOT,
                         (m->pages[i].number << REACH_PAGE_BITS) + m->pages[i].slots[k].offset,
                         m->pages[i].slots[k].pointer);
}

/* An alloc or free: note it, or do what it says. */
static void memory(struct reach *r, const struct event *ev)
{
    if (is_named(ev->target) || (!ev->value && ev->op == OP_ALLOC))
        return;
    if (!r->active && r->nnotes < NOTES_MAX) {
        GROW(r->notes, r->notes_cap, r->nnotes + 1);
        r->notes[r->nnotes++] = (struct note){ ev->target, ev->value, ev->op == OP_ALLOC };
        return;
    }
    if (!r->active)
        activate(r);
    if (ev->op == OP_ALLOC)
        allocated(r, ev->target, ev->value);
    else
        freed(r, ev->target, ev->value);
}

static void follow(struct reach *r, struct batch *b, size_t i)
{
    const struct event *ev = &b->events[i];

    switch (ev->op) {
    case OP_ALLOC:
    case OP_FREE:
        memory(r, ev);
        break;
    case OP_CALL:
        if (!r->active && reach_is_raw(ev, b->extra))
            activate(r);
        call(r, b, i);
        break;
    case OP_LINK:
    case OP_OBJECT:
        if (!r->active)
            activate(r);
        if (ev->op == OP_LINK)
            linked(r, ev->target, ev->value);
        else
            told(r, ev->target, ev->value);
        break;
    default:
        if (r->active && ev->size == 8 && ev->flags & EV_VALUE)
            stored(r, ev);
    }
}

/* By where the event is, whichever others come with it: all passes must make the same lists. */
static void earn(struct reach *r)
{
    uint64_t units = r->events / CREDIT_EVENTS;

    r->credit += r->credit < CREDIT_MAX ? (int64_t)(units - r->earned) : 0;
    r->earned = units;
}

void reach_batch(struct reach *r, struct batch *b)
{
    const uint64_t all = followed_ops | store_ops;
    uint64_t ops;

    if (!r->begun)
        begin_at_seam(r);
    ops = r->active ? all : followed_ops;
    r->own = false;
    if (r->nextra > EXTRA_WORDS) {
        r->nextra = 0;
        r->era++;
    }
    for (size_t i = 0; i < b->count; i++) {
        r->events += event_positions(&b->events[i]);
        if (__builtin_expect(!(ops >> b->events[i].op & 1), 1))
            continue;
        earn(r);
        follow(r, b, i);
        if (r->active)
            ops = all;
    }
    if (r->own)
        b->extra = r->extra;
}
