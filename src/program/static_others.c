/* static_others.c - constraints of calls of functions that are not part of the program
 *
 * As static_model.c describes them; a function that is not there may do anything with what it is
 * given.
 */
#include "base/alloc.h"
#include "program/static_inside.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX = 4096 /* bytes: of a constant length up to this */ };

static uint32_t heap_object(struct statics *s, uint32_t instance, uint64_t bytes)
{
    uint32_t o = object_new(s, OBJECT_HEAP, bytes, UINT32_MAX);

    s->objects[o].owner = s->instances[instance].function;
    return location_at(s, o, 0);
}

static uint64_t heap_bytes(const struct fact *f, const char *name)
{
    if (strcmp(name, "calloc") == 0)
        return f->span < FACT_WHOLE ? f->span : 0;
    if (strcmp(name, "malloc") == 0 || strncmp(name, "_Znw", 4) == 0 ||
        strncmp(name, "_Zna", 4) == 0)
        return f->size < FACT_WHOLE ? f->size : 0;
    return 0;
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

/* Text: bytes of all that the arguments lead to, one step further, may get to any of it. */
static void mix_text(struct statics *s, uint32_t all)
{
    uint32_t from = nodes_new(s, 4), into = from + 2; /* pointers, parts of pointers */

    node_rule(s, all, RULE_FROM)->node = from;
    node_rule(s, all, RULE_INTO)->node = into;
    node_edge(s, from, into + 1);
    node_edge(s, from + 1, into + 1);
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

/* std::thread: *arg 1 is an object whose third virtual function is the thread's. */
static void start_state(struct statics *s, uint32_t instance, uint32_t fact, const struct fact *f)
{
    uint32_t state = node_new(s), table = node_new(s);

    build_load(s, state, call_arg(s, instance, f, 1), POINTER_BYTES);
    build_load(s, table, state, POINTER_BYTES);
    node_edge(s, state, NODE_HANDED);
    for (int slot = 0; slot < 3; slot++) { /* destructors run in the thread, too */
        uint32_t at = node_new(s), function = node_new(s);
        struct rule *r = node_rule(s, table, RULE_OFFSET);

        r->node = at;
        r->offset = (int64_t)slot * POINTER_BYTES;
        build_load(s, function, at, POINTER_BYTES);
        call_back(s, instance, fact, function, state, RULE_START);
    }
}

void build_names(struct statics *s)
{
    for (uint32_t e = 0; e < s->names.count; e++)
        if (s->entities[e].is_defined)
            node_point(s, NODE_WORLD, location_at(s, s->entities[e].object, 0));
}

static void special(struct statics *s, uint32_t instance, uint32_t fact, const struct fact *f,
                    const struct model *m)
{
    uint32_t a0 = call_arg(s, instance, f, 0), a1 = call_arg(s, instance, f, 1);
    uint32_t to = value_node(s, instance, f->to), tmp, function;

    switch ((enum model_what)m->what) {
    case MODEL_COPY:
        build_move(s, a0, a1, (uint64_t)f->offset < FACT_WHOLE ? (uint32_t)f->offset : FACT_WHOLE);
        break;
    case MODEL_REALLOC:
        tmp = node_new(s);
        node_point(s, tmp, heap_object(s, instance, 0));
        node_edge(s, tmp, to);
        node_edge(s, a0, to);
        build_move(s, tmp, a0, FACT_WHOLE);
        break;
    case MODEL_HEAP_AT:
        tmp = node_new(s);
        node_point(s, tmp, heap_object(s, instance, 0));
        build_store(s, a0, tmp, POINTER_BYTES);
        break;
    case MODEL_END_AT:
        tmp = node_new(s);
        build_blur(s, tmp, a0);
        build_store(s, a1, tmp, POINTER_BYTES);
        break;
    case MODEL_CREATE: /* thrd_create(handle, function, argument) has no attributes */
        tmp = m->args[1] == '-' ? call_arg(s, instance, f, 3) : call_arg(s, instance, f, 2);
        node_edge(s, tmp, NODE_HANDED);
        if (!tmp)
            tmp = node_new(s);
        call_back(s, instance, fact, m->args[1] == '-' ? call_arg(s, instance, f, 2) : a1, tmp,
                  RULE_START);
        break;
    case MODEL_CREATE_CXX:
        start_state(s, instance, fact, f);
        break;
    case MODEL_JOIN:
        build_store(s, a1, NODE_RESULTS, POINTER_BYTES);
        break;
    case MODEL_EXIT:
        node_edge(s, a0, NODE_RESULTS);
        break;
    case MODEL_ONCE:
        call_back(s, instance, fact, a1, node_new(s), RULE_BACK);
        break;
    case MODEL_COMPARE:
        tmp = build_mix(s, instance, f, true);
        for (uint32_t i = 0; i < f->nargs; i++)
            call_back(s, instance, fact, call_arg(s, instance, f, i), tmp, RULE_BACK);
        break;
    case MODEL_SET:
        node_edge(s, a1, NODE_SPECIFIC);
        break;
    case MODEL_GET:
        node_edge(s, NODE_SPECIFIC, to);
        break;
    case MODEL_KEY: /* its function runs when a thread ends: any thread may */
        call_back(s, instance, fact, a1, NODE_SPECIFIC, RULE_START);
        break;
    case MODEL_ATEXIT:
        node_edge(s, a1, NODE_HANDED);
        call_back(s, instance, fact, a0, a1 ? a1 : node_new(s), RULE_START);
        break;
    case MODEL_HANDLER:
        tmp = node_new(s);
        node_point(s, tmp, location_whole(s, s->signal));
        call_back(s, instance, fact, a1, tmp, RULE_START);
        node_edge(s, a1, NODE_KEPT); /* the next one returns it */
        node_edge(s, NODE_KEPT, to);
        break;
    case MODEL_ACTION:
        tmp = node_new(s);
        build_load(s, tmp, a1, FACT_WHOLE);
        node_edge(s, tmp, NODE_KEPT);
        build_store(s, call_arg(s, instance, f, 2), NODE_KEPT, FACT_WHOLE);
        function = node_new(s);
        node_point(s, function, location_whole(s, s->signal));
        call_back(s, instance, fact, tmp, function, RULE_START);
        break;
    case MODEL_MAP: /* mmap(): neither private (2) nor anonymous (32) */
        if (f->stride == FACT_WHOLE || (f->stride & 3) != 2)
            node_point(s, to, location_whole(s, s->mapping));
        node_edge(s, to, NODE_MAPPED);
        break;
    case MODEL_PROTECT:
        node_edge(s, a0, NODE_MAPPED);
        break;
    case MODEL_REACH:
        tmp = build_mix(s, instance, f, true);
        build_load(s, tmp, tmp, FACT_WHOLE);
        node_edge(s, tmp, to);
        break;
    case MODEL_THROW:
        node_edge(s, a0, NODE_THROWN);
        break;
    case MODEL_CATCH:
        node_edge(s, NODE_THROWN, to);
        build_load(s, to, NODE_THROWN, POINTER_BYTES); /* a thrown pointer is handed out itself */
        build_blur(s, to, a0);
        break;
    case MODEL_LOOKUP: /* by name: any function that others can see */
        build_names(s);
        node_point(s, to, ANYWHERE);
        break;
    case MODEL_KEEP:
        build_load(s, NODE_KEPT, call_arg(s, instance, f, 3), FACT_WHOLE);
        break;
    case MODEL_KEPT:
        build_store(s, a1, NODE_KEPT, FACT_WHOLE);
        break;
    case MODEL_GIVES:
        tmp = node_new(s);
        node_point(s, tmp, location_whole(s, s->system));
        build_store(s, call_arg(s, instance, f, 3), tmp, 4 * POINTER_BYTES);
        for (uint32_t i = 0; i < 3; i++)
            call_back(s, instance, fact, call_arg(s, instance, f, i), tmp, RULE_BACK);
        break;
    case MODEL_STRING:
        tmp = build_mix(s, instance, f, true);
        node_point(s, tmp, heap_object(s, instance, 0));
        mix_text(s, tmp);
        node_edge(s, tmp, to);
        break;
    case MODEL_MIX:
        node_edge(s, build_mix(s, instance, f, true), to);
        break;
    case MODEL_PLAIN:
    case MODEL_HEAP:
    case MODEL_LOCK:
    case MODEL_UNLOCK:
        break;
    }
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
    for (uint32_t i = 0; system && i < f->nargs; i++)
        call_back(s, instance, fact, call_arg(s, instance, f, i), NODE_ANYWHERE, RULE_BACK);
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

void build_external(struct statics *s, uint32_t instance, uint32_t fact, uint32_t entity)
{
    const struct entity *e = &s->entities[entity];
    const struct model *m = e->model;
    uint32_t caller = s->instances[instance].function, to;
    const struct fact *f = &s->functions[caller].code->facts[fact];
    struct call *c;

    if (!build_first(s, instance, fact, (uint64_t)entity | UINT64_C(1) << 40))
        return;
    if (!m) {
        build_unknown(s, instance, fact, e->name);
        return;
    }
    c = call_at(s, caller, fact);
    c->model = m;
    to = value_node(s, instance, f->to);
    special(s, instance, fact, f, m);
    for (uint32_t i = 0; i < f->nargs; i++)
        transfer(s, f, call_arg(s, instance, f, i), model_letter(m, i));
    if (m->result == 'h' || m->what == MODEL_HEAP)
        node_point(s, to, heap_object(s, instance, heap_bytes(f, m->name)));
    if (m->result == 's')
        node_point(s, to, location_whole(s, s->system));
    else if (m->result >= '0' && m->result <= '9')
        build_blur(s, to, call_arg(s, instance, f, (uint32_t)(m->result - '0')));
}
