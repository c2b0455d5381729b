/* static_place.c - objects, and places in them
 *
 * A location is an offset, or the offsets off + i * stride: within `span` bytes behind off (an
 * array in a structure), or in the whole object. So fields are told apart, elements of arrays are
 * not, fields of elements are.
 *
 * What is stored at a location is kept in its node `in`; a load sees `out`, which collects the
 * `in` of all locations of the object that may overlap. So a store through an unclear pointer
 * reaches all loads and pollutes no other store.
 *
 * Widenings keep the number finite and small. Pointer arithmetic with constants more than
 * DEPTH_MAX steps from where it started is a loop over an array: its constant becomes a stride.
 * What leads to more than CELLS_MAX places or STRIDED_MAX sets of places in an object leads
 * anywhere in it.
 */
#include "base/alloc.h"
#include "static/static_inside.h"

enum {
    /* Nested structures give chains of 3 or 4; each step more costs locations in every loop. */
    DEPTH_MAX = 4,
    /* Edges grow with its square. Structures with more fields than this are mostly variables
     * whose fields are named directly; such names are always kept apart. */
    CELLS_MAX = 160,
    /* Each kind of loop over an object makes one; zstd's tables would make thousands. */
    STRIDED_MAX = 12,
    SPANNED_MAX = 64 /* of these, arrays in structures */
};

uint32_t object_new(struct statics *s, enum object_kind kind, uint64_t bytes, uint32_t entity)
{
    GROW(s->objects, s->objects_cap, s->nobjects + 1);
    s->objects[s->nobjects] =
        (struct object){ .kind = (uint8_t)kind, .bytes = bytes, .entity = entity };
    return (uint32_t)s->nobjects++;
}

/* ---- locations ---- */

static uint64_t static_place_key_of(uint32_t object, int64_t offset, uint32_t stride, uint64_t span)
{
    uint64_t h = map_hash((uint64_t)object << 32 | stride);

    h = map_hash(h ^ (uint64_t)offset);
    return map_hash(h + span);
}

static uint32_t location_get(struct statics *s, uint32_t object, int64_t offset, uint32_t stride,
                             uint64_t span, uint32_t depth)
{
    uint64_t key = static_place_key_of(object, offset, stride, span);
    uint32_t *first = map_put(&s->location_of, key, 0), n;

    for (n = *first; n; n = s->same[n - 1]) {
        const struct location *l = &s->locations[n - 1];

        if (l->object == object && l->offset == offset && l->stride == stride && l->span == span)
            return n - 1;
    }
    GROW(s->locations, s->locations_cap, s->nlocations + 1);
    GROW(s->same, s->same_cap, s->nlocations + 1);
    n = (uint32_t)s->nlocations++;
    s->locations[n] = (struct location){ .object = object,
                                         .next = s->objects[object].first,
                                         .offset = offset,
                                         .stride = stride,
                                         .span = span,
                                         .depth = depth };
    s->same[n] = *first;
    *first = n + 1;
    s->objects[object].first = n + 1;
    s->objects[object].count += stride == 0;
    s->objects[object].strided += stride != 0;
    if (s->objects[object].escaped)
        set_add(&s->known, n);
    return n;
}

uint32_t location_whole(struct statics *s, uint32_t object)
{
    if (s->objects[object].kind == OBJECT_WORLD)
        return ANYWHERE;
    if (s->objects[object].kind == OBJECT_FUNCTION)
        return location_get(s, object, 0, 0, 0, 0);
    return location_get(s, object, 0, 1, 0, 0);
}

uint32_t location_at(struct statics *s, uint32_t object, int64_t offset)
{
    if (s->objects[object].kind == OBJECT_SYSTEM)
        return location_whole(s, object);
    if (s->objects[object].kind == OBJECT_FUNCTION)
        offset = 0;
    return location_get(s, object, offset, 0, 0, 0);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static uint32_t strided(struct statics *s, uint32_t object, int64_t offset, uint32_t stride,
                        uint64_t span, uint32_t depth)
{
    if (s->objects[object].strided >= (span ? SPANNED_MAX : STRIDED_MAX))
        return location_whole(s, object);
    return location_get(s, object, offset, stride, span, depth);
}

static uint32_t residue(struct statics *s, uint32_t object, int64_t offset, uint64_t stride)
{
    int64_t m = stride > INT32_MAX ? 1 : (int64_t)stride;

    return strided(s, object, ((offset % m) + m) % m, (uint32_t)m, 0, 0);
}

/* The sum of offsets, kept where nobody can overflow it. */
static int64_t sum(int64_t a, int64_t b)
{
    const int64_t most = INT64_C(1) << 40;
    int64_t c;

    if (b > most || b < -most)
        return b > 0 ? most : -most;
    c = a + b;
    return c > most ? most : c < -most ? -most : c;
}

uint32_t location_move(struct statics *s, uint32_t from, int64_t offset, uint32_t stride,
                       uint64_t span)
{
    struct location l = s->locations[from];
    const struct object *o = &s->objects[l.object];
    int64_t at = sum(l.offset, offset);
    uint64_t step = (uint64_t)(offset < 0 ? -offset : offset);

    if (o->kind == OBJECT_WORLD || o->kind == OBJECT_FUNCTION || o->kind == OBJECT_SYSTEM)
        return from;
    if (offset == 0 && stride == 0)
        return from;
    if (l.stride == 0 && stride == 0) {
        if (o->bytes && (at < -(int64_t)o->bytes || at > 2 * (int64_t)o->bytes))
            return UINT32_MAX;
        if (o->count > CELLS_MAX)
            return location_whole(s, l.object);
        if (l.depth >= DEPTH_MAX)
            return residue(s, l.object, at, step);
        return location_get(s, l.object, at, 0, 0, l.depth + 1);
    }
    if (l.depth < DEPTH_MAX && (l.stride == 0 || l.span) && (stride == 0 || span))
        return strided(s, l.object, at, (uint32_t)gcd(l.stride, stride), l.span + span,
                       l.depth + 1);
    if (stride == 0 && l.span)
        return residue(s, l.object, at, gcd(l.stride, step));
    return residue(s, l.object, at, gcd(l.stride, stride));
}

/* ---- overlap ---- */

/* Where it may begin and end, in bytes; a residue class has no bounds. */
static bool bounds(const struct location *l, uint64_t bytes, int64_t *from, int64_t *to)
{
    const int64_t far = INT64_C(1) << 50;

    if (l->stride && !l->span)
        return false;
    *from = l->offset;
    *to = bytes > (uint64_t)far ? far : l->offset + (int64_t)(l->span + bytes);
    return true;
}

bool locations_meet(const struct location *a, uint64_t a_bytes, const struct location *b,
                    uint64_t b_bytes)
{
    int64_t from[2], to[2];
    uint64_t g = gcd(a->stride, b->stride), distance;

    if (bounds(a, a_bytes, &from[0], &to[0]) && bounds(b, b_bytes, &from[1], &to[1]) &&
        (from[0] >= to[1] || from[1] >= to[0]))
        return false;
    if (g == 0 || a_bytes >= g || b_bytes >= g)
        return true;
    /* how far b begins behind a, on a circle of g bytes */
    distance = (uint64_t)(((b->offset - a->offset) % (int64_t)g + (int64_t)g) % (int64_t)g);
    return distance < a_bytes || g - distance < b_bytes;
}

/* Offsets of a residue class are its smallest. UINT64_MAX: the bytes are not known. */
bool location_fits(const struct statics *s, const struct location *l, uint64_t bytes)
{
    const struct object *o = &s->objects[l->object];
    uint64_t least = bytes == UINT64_MAX ? 1 : bytes;

    if (!o->bytes || o->kind == OBJECT_FUNCTION || o->kind == OBJECT_SYSTEM)
        return true;
    if (l->offset < 0)
        return l->stride != 0;
    return least <= o->bytes && (uint64_t)l->offset <= o->bytes - least;
}

/* ---- what is in memory ---- */

enum access_width access_width(uint64_t bytes)
{
    return bytes >= 8 ? WIDTH_POINTER : bytes >= 4 ? WIDTH_4 : bytes >= 2 ? WIDTH_2 : WIDTH_1;
}

static uint64_t width_bytes(enum access_width width)
{
    return width < WIDTH_POINTER ? UINT64_C(1) << width : POINTER_BYTES;
}

bool location_has_parts(const struct statics *s, uint32_t location)
{
    const struct object *o = &s->objects[s->locations[location].object];

    return o->kind != OBJECT_SYSTEM && o->kind != OBJECT_FUNCTION && !o->constant;
}

/* A load of a pointer may see one that was put together from parts. */
static bool static_place_is_seen(const struct statics *s, uint32_t stored, enum access_width in,
                                 enum access_width out)
{
    if (in != WIDTH_POINTER && !location_has_parts(s, stored))
        return false;
    return out == WIDTH_PARTS ? in != WIDTH_POINTER : out != WIDTH_WHOLE || in == WIDTH_POINTER;
}

static void connect(struct statics *s, uint32_t stored, enum access_width in, uint32_t loaded,
                    enum access_width out)
{
    if (static_place_is_seen(s, stored, in, out) &&
        locations_meet(&s->locations[stored], width_bytes(in), &s->locations[loaded],
                       width_bytes(out)))
        node_edge(s, s->locations[stored].in[in], s->locations[loaded].out[out]);
}

uint32_t location_in(struct statics *s, uint32_t n, enum access_width width)
{
    uint32_t object = s->locations[n].object;

    if (s->objects[object].kind == OBJECT_WORLD)
        return width == WIDTH_POINTER ? NODE_WORLD : NODE_PARTS;
    if (s->locations[n].in[width])
        return s->locations[n].in[width];
    uint32_t node = node_new(s);
    s->locations[n].in[width] = node;
    for (uint32_t l = s->objects[object].first; l; l = s->locations[l - 1].next)
        for (unsigned k = 0; k < WIDTHS_OUT; k++)
            if (s->locations[l - 1].out[k])
                connect(s, n, width, l - 1, k);
    return node;
}

uint32_t location_out(struct statics *s, uint32_t n, enum access_width width)
{
    uint32_t object = s->locations[n].object;

    if (s->objects[object].kind == OBJECT_WORLD)
        return width == WIDTH_POINTER || width == WIDTH_WHOLE ? NODE_ANYWHERE : NODE_BYTES;
    if (s->locations[n].out[width])
        return s->locations[n].out[width];
    uint32_t node = node_new(s);
    s->locations[n].out[width] = node;
    for (uint32_t l = s->objects[object].first; l; l = s->locations[l - 1].next)
        for (unsigned k = 0; k < WIDTHS_IN; k++)
            if (s->locations[l - 1].in[k])
                connect(s, l - 1, k, n, width);
    return node;
}
