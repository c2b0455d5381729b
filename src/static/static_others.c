/* static_others.c - constraints of calls of functions that are not part of the program
 *
 * As abi/rt_libc.h describes them: letters of arguments and the result, and for what these do not
 * say a function for each of enum libc_does. A function that is not there may do anything with what
 * it is given.
 */
#include "base/alloc.h"
#include "static/static_inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    MESSAGE_MAX = 4096, /* bytes: of a constant length up to this */
    GIVEN_POINTERS = 9  /* the largest structure that the library fills with its own: glob_t */
};

static uint32_t heap_object(struct statics *s, uint32_t instance, uint64_t bytes)
{
    uint32_t o = object_new(s, OBJECT_HEAP, bytes, UINT32_MAX);

    s->objects[o].owner = s->instances[instance].function;
    return location_at(s, o, 0);
}

/* malloc(24), calloc(2, 24) */
static uint64_t heap_bytes(const struct fact *f, const struct libc_function *m)
{
    struct libc_extent e;
    uint64_t bytes = 0;

    if (libc_result_extent(m, &e) && e.bytes == 0)
        bytes = e.times < 0 ? f->size : e.times == 1 ? f->span : 0;
    return bytes < FACT_WHOLE ? bytes : 0;
}

uint32_t build_mix(struct statics *s, uint32_t instance, const struct fact *f, bool memory)
{
    uint32_t all = nodes_new(s, 2); /* pointers, parts of pointers */

    for (uint32_t i = 0; i < f->nargs; i++) {
        uint32_t arg = call_arg(s, instance, f, i);

        build_blur(s, all, arg);
        if (memory && arg) {
            node_rule(s, arg, RULE_FROM)->node = all;
            node_rule(s, arg, RULE_INTO)->node = all;
        }
    }
    return all;
}

/* Bytes of what `from` points to may get to what `into` points to, as parts of pointers. */
static void move_text(struct statics *s, uint32_t into, uint32_t from)
{
    uint32_t read = nodes_new(s, 4), written = read + 2; /* pointers, parts of pointers */

    if (!into || !from)
        return;
    node_rule(s, from, RULE_FROM)->node = read;
    node_rule(s, into, RULE_INTO)->node = written;
    node_edge(s, read, written + 1);
    node_edge(s, read + 1, written + 1);
}

static void call_back(struct statics *s, uint32_t instance, uint32_t fact, uint32_t pointer,
                      uint32_t argument, enum rule_kind kind)
{
    struct rule *r;

    if (!pointer)
        return;
    r = node_rule(s, pointer, kind);
    r->node = argument;
    r->size = s->instances[instance].function;
    r->offset = fact;
}

void build_names(struct statics *s)
{
    for (uint32_t e = 0; e < s->names.count; e++)
        if (s->entities[e].is_defined)
            node_point(s, NODE_WORLD, location_at(s, s->entities[e].object, 0));
}

static void note_untraced(struct statics *s, const char *name)
{
    for (size_t i = 0; i < s->nuntraced; i++)
        if (strcmp(s->untraced[i], name) == 0)
            return;
    GROW(s->untraced, s->untraced_cap, s->nuntraced + 2);
    s->untraced[s->nuntraced++] = xstrndup(name, strlen(name));
    s->counters.untraced++;
}

/* System functions start no threads; what they are given they may call. */
static void build_unknown(struct statics *s, uint32_t instance, uint32_t fact, const char *name)
{
    uint32_t caller = s->instances[instance].function;
    const struct fact *f = &s->functions[caller].code->facts[fact];
    bool system = model_is_system(name);

    if (!system)
        note_untraced(s, name);
    build_world_call(s, instance, fact);
    call_at(s, caller, fact)->world = !system;
    for (uint32_t i = 0; system && i < f->nargs; i++) {
        uint32_t arg = call_arg(s, instance, f, i);

        call_back(s, instance, fact, arg, NODE_ANYWHERE, RULE_BACK);
        if (libc_letter(libc_find(name), i) == 'q')
            node_edge(s, arg, NODE_CHANNEL);
    }
}

/* What it points to goes to a file, pipe or socket, or comes from one. Parts of pointers do so in
 * messages only: else every program that writes what it has computed from bytes would seem to pass
 * on its structures (pbzip2: 3.7 million pairs instead of 14,000). */
static void transfer_memory(struct statics *s, uint32_t pointer, bool sends, bool message)
{
    uint32_t moved = nodes_new(s, 2); /* pointers, parts */

    if (!pointer)
        return;
    node_rule(s, pointer, sends ? RULE_FROM : RULE_INTO)->node = moved;
    s->receives |= !sends;
    for (uint32_t i = 0; i < 1 + (uint32_t)message; i++)
        node_edge(s, sends ? moved + i : NODE_CHANNEL + i, sends ? NODE_CHANNEL + i : moved + i);
}

static void transfer(struct statics *s, const struct fact *f, uint32_t pointer, char how)
{
    bool sends = how == 's' || how == 'S', message = f->nargs > 2 && f->offset <= MESSAGE_MAX;

    if (!pointer || !how || !strchr("sSvV", how))
        return;
    transfer_memory(s, pointer, sends, message);
    for (int step = 0; step < 2 && (how == 'S' || how == 'V'); step++) {
        uint32_t next = node_new(s);

        build_load(s, next, pointer, FACT_WHOLE);
        transfer_memory(s, next, sends, message);
        pointer = next;
    }
}

/* ---- what functions do besides what their arguments' letters say ---- */

/* A call of one. */
struct use {
    struct statics *s;
    uint32_t instance, fact;
    const struct fact *f;
    const struct libc_function *m;
    uint32_t to; /* node of the result */
};

static uint32_t use_arg(const struct use *u, int i)
{
    return i < 0 ? NODE_NONE : call_arg(u->s, u->instance, u->f, (uint32_t)i);
}

static uint32_t fresh(const struct use *u)
{
    uint32_t node = node_new(u->s);

    node_point(u->s, node, heap_object(u->s, u->instance, 0));
    return node;
}

/* Of argument `i`, if it is a constant; else FACT_WHOLE. */
uint32_t model_bytes(const struct libc_function *m, const struct fact *f, unsigned i)
{
    struct libc_extent e;
    uint64_t bytes;

    if (!libc_extent(m, i, &e) || e.bytes != 2 || e.times >= 0 || f->nargs < 3)
        return FACT_WHOLE;
    bytes = (uint64_t)f->offset;
    return bytes < FACT_WHOLE / e.unit - e.more ? (uint32_t)(bytes * e.unit + e.more) : FACT_WHOLE;
}

static void does_copy(const struct use *u)
{
    int from = libc_with(u->m, "r"), into = libc_with(u->m, "wb");
    uint32_t to = into < 0 ? u->to : use_arg(u, into);

    if (libc_is_text(u->m, (unsigned)from))
        move_text(u->s, to, use_arg(u, from));
    else
        build_move(u->s, to, use_arg(u, from), model_bytes(u->m, u->f, (unsigned)from));
}

static void does_realloc(const struct use *u)
{
    uint32_t moved = fresh(u);

    node_edge(u->s, moved, u->to);
    node_edge(u->s, use_arg(u, 0), u->to);
    build_move(u->s, moved, use_arg(u, 0), FACT_WHOLE);
}

static void does_heap_at(const struct use *u)
{
    build_store(u->s, use_arg(u, 0), fresh(u), POINTER_BYTES);
}

static void does_end(const struct use *u)
{
    uint32_t place = node_new(u->s);

    build_blur(u->s, place, use_arg(u, 0));
    build_store(u->s, use_arg(u, 1), place, POINTER_BYTES);
}

/* Also by a va_list: two steps far. */
static void does_scan(const struct use *u)
{
    uint32_t memory = fresh(u);

    for (uint32_t i = 0; i < u->f->nargs; i++) {
        char how = libc_touch(u->m, i);
        uint32_t at = use_arg(u, (int)i);

        if (how == 'w' || how == 'W')
            build_store(u->s, at, memory, POINTER_BYTES);
        for (int step = 0; step < 2 && how == 'W' && at; step++) {
            uint32_t next = node_new(u->s);

            build_load(u->s, next, at, FACT_WHOLE);
            build_store(u->s, next, memory, POINTER_BYTES);
            at = next;
        }
    }
}

/* At any place: strsep() moves a pointer along. */
static void does_mix(const struct use *u)
{
    uint32_t all = build_mix(u->s, u->instance, u->f, true);

    build_blur(u->s, all, all);
    node_edge(u->s, all, u->to);
}

static void does_text(const struct use *u)
{
    uint32_t all = build_mix(u->s, u->instance, u->f, true);

    node_point(u->s, all, heap_object(u->s, u->instance, 0));
    move_text(u->s, all, all);
    node_edge(u->s, all, u->to);
}

static void does_reach(const struct use *u)
{
    uint32_t all = build_mix(u->s, u->instance, u->f, true);

    build_load(u->s, all, all, FACT_WHOLE);
    node_edge(u->s, all, u->to);
}

/* std::thread: *arg 1 is an object whose third virtual function is the thread's. */
static void does_create_cxx(const struct use *u)
{
    struct statics *s = u->s;
    uint32_t state = node_new(s), table = node_new(s);

    build_load(s, state, use_arg(u, 1), POINTER_BYTES);
    build_load(s, table, state, POINTER_BYTES);
    node_edge(s, state, NODE_HANDED);
    for (int slot = 0; slot < 3; slot++) { /* destructors run in the thread, too */
        uint32_t at = node_new(s), function = node_new(s);
        struct rule *r = node_rule(s, table, RULE_OFFSET);

        r->node = at;
        r->offset = (int64_t)slot * POINTER_BYTES;
        build_load(s, function, at, POINTER_BYTES);
        call_back(s, u->instance, u->fact, function, state, RULE_START);
    }
}

static void does_join(const struct use *u)
{
    build_store(u->s, use_arg(u, 1), NODE_RESULTS, POINTER_BYTES);
}

static void does_exit(const struct use *u)
{
    node_edge(u->s, use_arg(u, 0), NODE_RESULTS);
}

static void does_set(const struct use *u)
{
    node_edge(u->s, use_arg(u, 1), NODE_SPECIFIC);
}

static void does_get(const struct use *u)
{
    node_edge(u->s, NODE_SPECIFIC, u->to);
}

/* The next call returns this one's. */
static void does_handler(const struct use *u)
{
    node_edge(u->s, use_arg(u, libc_with(u->m, "t")), NODE_KEPT);
    node_edge(u->s, NODE_KEPT, u->to);
}

static uint32_t signal_node(struct statics *s)
{
    uint32_t node = node_new(s);

    node_point(s, node, location_whole(s, s->signal));
    return node;
}

static void does_action(const struct use *u)
{
    uint32_t function = node_new(u->s);

    build_load(u->s, function, use_arg(u, 1), FACT_WHOLE);
    node_edge(u->s, function, NODE_KEPT);
    build_store(u->s, use_arg(u, 2), NODE_KEPT, FACT_WHOLE);
    call_back(u->s, u->instance, u->fact, function, signal_node(u->s), RULE_START);
}

/* mmap(): neither private (2) nor anonymous (32) */
static void does_map(const struct use *u)
{
    if (u->f->stride == FACT_WHOLE || (u->f->stride & 3) != 2)
        node_point(u->s, u->to, location_whole(u->s, u->s->mapping));
    node_edge(u->s, u->to, NODE_MAPPED);
}

static void does_protect(const struct use *u)
{
    node_edge(u->s, use_arg(u, 0), NODE_MAPPED);
}

static void does_throw(const struct use *u)
{
    node_edge(u->s, use_arg(u, 0), NODE_THROWN);
}

static void does_catch(const struct use *u)
{
    node_edge(u->s, NODE_THROWN, u->to);
    build_load(u->s, u->to, NODE_THROWN, POINTER_BYTES); /* a thrown pointer is handed out itself */
    build_blur(u->s, u->to, use_arg(u, 0));
}

/* By name: any function that others can see. */
static void does_lookup(const struct use *u)
{
    build_names(u->s);
    node_point(u->s, u->to, ANYWHERE);
}

static void does_keep(const struct use *u)
{
    for (uint32_t i = 0; i < u->f->nargs; i++)
        node_edge(u->s, use_arg(u, (int)i), NODE_KEPT);
}

static void (*const effects[])(const struct use *u) = {
    [LIBC_COPY] = does_copy,       [LIBC_REALLOC] = does_realloc,
    [LIBC_HEAP_AT] = does_heap_at, [LIBC_END] = does_end,
    [LIBC_SCAN] = does_scan,       [LIBC_MIX] = does_mix,
    [LIBC_TEXT] = does_text,       [LIBC_REACH] = does_reach,
    [LIBC_LINK] = does_reach,      [LIBC_CREATE_CXX] = does_create_cxx,
    [LIBC_JOIN] = does_join,       [LIBC_EXIT] = does_exit,
    [LIBC_SET] = does_set,         [LIBC_GET] = does_get,
    [LIBC_HANDLER] = does_handler, [LIBC_ACTION] = does_action,
    [LIBC_MAP] = does_map,         [LIBC_PROTECT] = does_protect,
    [LIBC_THROW] = does_throw,     [LIBC_CATCH] = does_catch,
    [LIBC_LOOKUP] = does_lookup,   [LIBC_KEEPS] = does_keep,
    [LIBC_UNKNOWN] = NULL,
};

/* ---- a call ---- */

/* What a function that runs later is given: thread-specific data, a signal, what was registered. */
static uint32_t later_argument(const struct use *u)
{
    uint32_t given = use_arg(u, libc_with(u->m, "g"));

    if (u->m->does == LIBC_KEY)
        return NODE_SPECIFIC;
    if (u->m->does == LIBC_HANDLER)
        return signal_node(u->s);
    return given ? given : node_new(u->s);
}

static uint32_t system_node(struct statics *s)
{
    uint32_t node = node_new(s);

    node_point(s, node, location_whole(s, s->system));
    return node;
}

static void use_argument(const struct use *u, uint32_t i)
{
    struct statics *s = u->s;
    uint32_t arg = use_arg(u, (int)i);
    char letter = libc_letter(u->m, i);

    switch (arg ? letter : 0) {
    case 'k':
        build_load(s, NODE_KEPT, arg, FACT_WHOLE);
        break;
    case 'K':
        build_store(s, arg, NODE_KEPT, FACT_WHOLE);
        break;
    case 'y':
        build_store(s, arg, system_node(s), GIVEN_POINTERS * POINTER_BYTES);
        break;
    case 'c':
        call_back(s, u->instance, u->fact, arg, build_mix(s, u->instance, u->f, false), RULE_BACK);
        break;
    case 't':
        call_back(s, u->instance, u->fact, arg, later_argument(u), RULE_START);
        break;
    case 'g':
        node_edge(s, arg, NODE_HANDED);
        break;
    case 'q':
        node_edge(s, arg, NODE_CHANNEL);
        break;
    default:
        transfer(s, u->f, arg, letter);
        break;
    }
}

static void use_result(const struct use *u)
{
    struct statics *s = u->s;

    for (const char *c = u->m->result; *c; c++) {
        if (*c >= '0' && *c <= '9')
            build_blur(s, u->to, use_arg(u, *c - '0'));
        if (*c == 's' || *c == 'k')
            node_point(s, u->to, location_whole(s, s->system));
        if (*c == 'k')
            build_blur(s, u->to, NODE_KEPT);
        if (*c == 'h' || *c == 'H') {
            node_point(s, u->to, heap_object(s, u->instance, heap_bytes(u->f, u->m)));
            return; /* behind it is its size */
        }
    }
}

void build_external(struct statics *s, uint32_t instance, uint32_t fact, uint32_t entity)
{
    const struct entity *e = &s->entities[entity];
    uint32_t caller = s->instances[instance].function;
    const struct fact *f = &s->functions[caller].code->facts[fact];
    struct use u = { s, instance, fact, f, e->model, value_node(s, instance, f->to) };

    if (!build_first(s, instance, fact, (uint64_t)entity | UINT64_C(1) << 40))
        return;
    if (!u.m) {
        build_unknown(s, instance, fact, e->name);
        return;
    }
    call_at(s, caller, fact)->model = u.m;
    if (u.m->does != LIBC_REALLOC)
        use_result(&u);
    if (effects[u.m->does])
        effects[u.m->does](&u);
    for (uint32_t i = 0; i < f->nargs; i++)
        use_argument(&u, i);
}
