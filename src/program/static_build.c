/* static_build.c - from facts to constraints
 *
 * One instance of values per function, plus one per call of a function that returns memory it
 * allocated (xmalloc, new_node ...), so that what such functions return at different places is
 * different memory. Function pointers are resolved while solving.
 */
#include "base/alloc.h"
#include "program/static_inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLONE_DEPTH_MAX = 3,       /* zmalloc() calls ztrymalloc() calls ... */
    CLONE_FACTS_MAX = 300,     /* of a function: what is longer is no wrapper */
    CLONES_FACTS_MAX = 400000, /* of all clones: half of a big program */
    CHUNK_BYTES = 8
};

/* ---- calls ---- */

struct call *call_at(struct statics *s, uint32_t function, uint32_t fact)
{
    uint32_t *n = map_put(&s->call_of, (uint64_t)function << 32 | fact, 0);

    if (!*n) {
        GROW(s->calls, s->calls_cap, s->ncalls + 1);
        s->calls[s->ncalls] = (struct call){ .function = function, .fact = fact };
        *n = (uint32_t)++s->ncalls;
    }
    return &s->calls[*n - 1];
}

void call_add(struct statics *s, uint32_t function, uint32_t fact, uint32_t target)
{
    struct call *c = call_at(s, function, fact);

    for (uint32_t i = 0; i < c->ntargets; i++)
        if (c->targets[i] == target)
            return;
    GROW(c->targets, c->cap, c->ntargets + (size_t)1);
    c->targets[c->ntargets++] = target;
}

/* True the first time. */
static bool is_first(struct statics *s, uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t *known = map_put(&s->bound, map_hash(map_hash(a << 32 | b) + c), 0);

    return !(*known)++;
}

/* ---- memory moves ---- */

static void move_memory(struct statics *s, uint32_t to, uint32_t from, uint32_t size)
{
    uint32_t n = size > 256 ? 0 : (size + CHUNK_BYTES - 1) / CHUNK_BYTES, first;
    struct rule *r;

    if (!to || !from || size < CHUNK_BYTES)
        return;
    first = nodes_new(s, n ? n : 1);
    r = node_rule(s, from, RULE_FROM);
    r->node = first;
    r->size = n;
    r = node_rule(s, to, RULE_INTO);
    r->node = first;
    r->size = n;
}

static void load_from(struct statics *s, uint32_t to, uint32_t pointer, uint32_t size)
{
    struct rule *r;

    if (!to || !pointer)
        return;
    r = node_rule(s, pointer, RULE_LOAD);
    r->node = to;
    r->size = size;
}

static void store_to(struct statics *s, uint32_t pointer, uint32_t value, uint32_t size)
{
    struct rule *r;

    if (!value || !pointer)
        return;
    r = node_rule(s, pointer, RULE_STORE);
    r->node = value;
    r->size = size;
}

static void blur(struct statics *s, uint32_t to, uint32_t from)
{
    struct rule *r;

    if (!to || !from)
        return;
    r = node_rule(s, from, RULE_OFFSET);
    r->node = to;
    r->stride = 1;
}

/* ---- symbols ---- */

static uint32_t follow_alias(const struct statics *s, uint32_t e, int64_t *offset, bool *ifunc)
{
    *ifunc = false;
    for (int i = 0; i < 8 && s->entities[e].alias; i++) {
        *offset += s->entities[e].alias_offset;
        *ifunc |= s->entities[e].ifunc;
        e = s->entities[e].alias - 1;
    }
    return e;
}

static void point_at(struct statics *s, uint32_t to, uint32_t e, int64_t offset)
{
    bool ifunc;

    e = follow_alias(s, e, &offset, &ifunc);
    if (!ifunc) {
        node_point(s, to, location_at(s, s->entities[e].object, offset));
        return;
    }
    for (uint32_t i = 0; i < s->entities[e].nfunctions; i++) {
        const struct sfunction *f = &s->functions[s->entities[e].functions[i]];

        node_edge(s, s->instances[f->instance].result, to);
    }
}

static void make_objects(struct statics *s)
{
    for (uint32_t e = 0; e < s->nentities; e++) {
        struct entity *y = &s->entities[e];

        y->object = object_new(s, y->is_function ? OBJECT_FUNCTION : OBJECT_VARIABLE, 0, e);
        if (!y->is_defined && !y->is_function && model_is_variable(y->name))
            node_point(s, location_in(s, location_whole(s, y->object)),
                       location_whole(s, s->system));
        else if (!y->is_defined && !y->is_function)
            node_point(s, NODE_WORLD, location_whole(s, y->object));
        if (!y->is_defined && y->is_function)
            y->model = model_find(y->name);
    }
}

static void initialise(struct statics *s, struct sfile_module *m)
{
    for (uint32_t i = 0; i < m->facts->nsymbols; i++) {
        const struct fact_symbol *y = &m->facts->symbols[i];
        struct object *o = &s->objects[s->entities[m->entities[i]].object];

        if (y->kind != SYMBOL_VARIABLE)
            continue;
        o->thread_local_ |= y->thread_local_;
        if (!y->defined)
            continue;
        o->constant = y->constant;
        if (y->bytes > o->bytes)
            o->bytes = y->bytes;
        for (uint32_t k = 0; k < y->npointers; k++) {
            const struct fact_pointer *p = &y->pointers[k];
            uint32_t at = location_at(s, s->entities[m->entities[i]].object, (int64_t)p->at);

            point_at(s, location_in(s, at), m->entities[p->symbol], p->offset);
        }
    }
}

/* ---- instances ---- */

static void build_instance(struct statics *s, uint32_t instance);

static uint32_t instance_new(struct statics *s, uint32_t function, uint32_t parent, uint32_t depth)
{
    const struct fact_function *code = s->functions[function].code;
    struct instance n = { .function = function, .parent = parent, .depth = depth };
    uint32_t number = (uint32_t)s->ninstances;

    n.base = nodes_new(s, code->nvalues + 2);
    n.result = n.base + code->nvalues;
    n.varargs = n.result + 1;
    if (number != s->functions[function].instance) {
        n.next = s->instances[s->functions[function].instance].next;
        s->instances[s->functions[function].instance].next = number + 1;
    }
    GROW(s->instances, s->instances_cap, s->ninstances + 1);
    s->instances[s->ninstances++] = n;
    for (uint32_t i = 0; i < code->nparams; i++)
        if (code->params[i].byval && code->params[i].value) {
            uint32_t o = object_new(s, OBJECT_STACK, code->params[i].byval, UINT32_MAX);

            s->objects[o].owner = function;
            node_point(s, n.base + code->params[i].value, location_at(s, o, 0));
        }
    return number;
}

static bool is_within(const struct statics *s, uint32_t instance, uint32_t function)
{
    for (uint32_t depth = s->instances[instance].depth;; depth--) {
        if (s->instances[instance].function == function)
            return true;
        if (!depth)
            return false;
        instance = s->instances[instance].parent;
    }
}

/* The instance of a function that a call uses. */
static uint32_t instance_for(struct statics *s, uint32_t instance, uint32_t fact, uint32_t function)
{
    const struct sfunction *f = &s->functions[function];
    uint32_t depth = s->instances[instance].depth + 1, number;

    if (!f->allocates || depth > CLONE_DEPTH_MAX || is_within(s, instance, function) ||
        s->clone_facts + f->code->nfacts > CLONES_FACTS_MAX)
        return f->instance;
    (void)fact;
    s->clone_facts += f->code->nfacts;
    s->counters.clones++;
    number = instance_new(s, function, instance, depth);
    build_instance(s, number);
    return number;
}

static void bind(struct statics *s, uint32_t caller, const struct fact *f, uint32_t callee)
{
    struct instance n = s->instances[callee];
    const struct fact_function *code = s->functions[n.function].code;

    for (uint32_t i = 0; i < f->nargs; i++) {
        uint32_t arg = call_arg(s, caller, f, i);

        if (i >= code->nparams)
            node_edge(s, arg, code->varargs ? n.varargs : NODE_NONE);
        else if (code->params[i].byval)
            move_memory(s, value_node(s, callee, code->params[i].value), arg,
                        code->params[i].byval);
        else
            node_edge(s, arg, value_node(s, callee, code->params[i].value));
    }
    node_edge(s, n.result, value_node(s, caller, f->to));
}

void build_call_target(struct statics *s, uint32_t instance, uint32_t fact, uint32_t function)
{
    uint32_t caller = s->instances[instance].function;
    const struct fact *f = &s->functions[caller].code->facts[fact];

    if (!is_first(s, instance, fact, function))
        return;
    call_add(s, caller, fact, function);
    bind(s, instance, f, instance_for(s, instance, fact, function));
}

void build_start(struct statics *s, uint32_t function, uint32_t argument, uint32_t creator,
                 uint32_t fact)
{
    const struct fact_function *code = s->functions[function].code;
    uint32_t n = s->functions[function].instance;

    call_add(s, creator, fact, function);
    if (code->nparams)
        node_edge(s, argument, value_node(s, n, code->params[0].value));
    node_edge(s, s->instances[n].result, NODE_RESULTS);
}

void build_back(struct statics *s, uint32_t function, uint32_t argument, uint32_t caller,
                uint32_t fact)
{
    const struct fact_function *code = s->functions[function].code;
    uint32_t n = s->functions[function].instance;

    call_add(s, caller, fact, function);
    for (uint32_t i = 0; i < code->nparams; i++)
        node_edge(s, argument, value_node(s, n, code->params[i].value));
}

void build_world_start(struct statics *s, uint32_t argument, uint32_t caller, uint32_t fact,
                       bool back)
{
    node_edge(s, argument, NODE_WORLD);
    if (back)
        call_at(s, caller, fact)->world = true;
    else
        node_point(s, NODE_RESULTS, ANYWHERE);
}

/* Untraced code knows it now: it may change it, call it, and pass on what is in it. */
void build_escape(struct statics *s, uint32_t object)
{
    struct entity e;

    if (s->objects[object].escaped || s->objects[object].kind == OBJECT_WORLD)
        return;
    s->objects[object].escaped = true;
    for (uint32_t l = s->objects[object].first; l; l = s->locations[l - 1].next)
        set_add(&s->known, l - 1);
    if (s->objects[object].kind != OBJECT_FUNCTION) {
        uint32_t whole = location_whole(s, object);

        node_point(s, location_in(s, whole), ANYWHERE);
        node_edge(s, location_out(s, whole), NODE_WORLD);
        return;
    }
    e = s->entities[s->objects[object].entity];
    for (uint32_t i = 0; i < e.nfunctions; i++) {
        struct sfunction *f = &s->functions[e.functions[i]];

        f->escaped = true;
        for (uint32_t k = 0; k < f->code->nparams; k++)
            node_point(s, value_node(s, f->instance, f->code->params[k].value), ANYWHERE);
        node_point(s, s->instances[f->instance].varargs, ANYWHERE);
        node_edge(s, s->instances[f->instance].result, NODE_WORLD);
    }
}

/* Whoever is called there, everything it is given is known to untraced code. */
void build_world_call(struct statics *s, uint32_t instance, uint32_t fact)
{
    uint32_t caller = s->instances[instance].function;
    const struct fact *f = &s->functions[caller].code->facts[fact];

    if (!is_first(s, instance, fact, UINT64_MAX))
        return;
    call_at(s, caller, fact)->world = true;
    for (uint32_t i = 0; i < f->nargs; i++)
        node_edge(s, call_arg(s, instance, f, i), NODE_WORLD);
    node_point(s, value_node(s, instance, f->to), ANYWHERE);
}

/* ---- functions of others ---- */

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

/* Any argument, and whatever is in their memory. */
static uint32_t mix(struct statics *s, uint32_t instance, const struct fact *f, bool memory)
{
    uint32_t all = node_new(s);

    for (uint32_t i = 0; i < f->nargs; i++) {
        uint32_t arg = call_arg(s, instance, f, i);

        blur(s, all, arg);
        if (memory && arg) {
            load_from(s, all, arg, FACT_WHOLE);
            store_to(s, arg, all, FACT_WHOLE);
        }
    }
    return all;
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

    load_from(s, state, call_arg(s, instance, f, 1), CHUNK_BYTES);
    load_from(s, table, state, CHUNK_BYTES);
    node_edge(s, state, NODE_HANDED);
    for (int slot = 0; slot < 3; slot++) { /* destructors run in the thread, too */
        uint32_t at = node_new(s), function = node_new(s);
        struct rule *r = node_rule(s, table, RULE_OFFSET);

        r->node = at;
        r->offset = (int64_t)slot * CHUNK_BYTES;
        load_from(s, function, at, CHUNK_BYTES);
        call_back(s, instance, fact, function, state, RULE_START);
    }
}

/* Untraced code may find by name whatever has one. */
static void know_names(struct statics *s)
{
    for (uint32_t e = 0; e < s->names.count; e++)
        if (s->entities[e].is_defined)
            node_point(s, NODE_WORLD, location_at(s, s->entities[e].object, 0));
}

static void special(struct statics *s, uint32_t instance, uint32_t fact, const struct fact *f,
                    const struct model *m)
{
    uint32_t a0 = call_arg(s, instance, f, 0), a1 = call_arg(s, instance, f, 1);
    uint32_t to = value_node(s, instance, f->to), tmp;

    switch ((enum model_what)m->what) {
    case MODEL_COPY:
        move_memory(s, a0, a1, (uint64_t)f->offset < FACT_WHOLE ? (uint32_t)f->offset : FACT_WHOLE);
        break;
    case MODEL_REALLOC:
        tmp = node_new(s);
        node_point(s, tmp, heap_object(s, instance, 0));
        node_edge(s, tmp, to);
        node_edge(s, a0, to);
        move_memory(s, tmp, a0, FACT_WHOLE);
        break;
    case MODEL_HEAP_AT:
        tmp = node_new(s);
        node_point(s, tmp, heap_object(s, instance, 0));
        store_to(s, a0, tmp, CHUNK_BYTES);
        break;
    case MODEL_END_AT:
        tmp = node_new(s);
        blur(s, tmp, a0);
        store_to(s, a1, tmp, CHUNK_BYTES);
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
        store_to(s, a1, NODE_RESULTS, CHUNK_BYTES);
        break;
    case MODEL_EXIT:
        node_edge(s, a0, NODE_RESULTS);
        break;
    case MODEL_ONCE:
        call_back(s, instance, fact, a1, node_new(s), RULE_BACK);
        break;
    case MODEL_COMPARE:
        tmp = mix(s, instance, f, true);
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
        call_back(s, instance, fact, a0, a1 ? a1 : node_new(s), RULE_START);
        break;
    case MODEL_HANDLER:
        tmp = node_new(s);
        node_point(s, tmp, location_whole(s, s->system));
        call_back(s, instance, fact, a1, tmp, RULE_START);
        node_edge(s, a1, NODE_KEPT); /* the next one returns it */
        node_edge(s, NODE_KEPT, to);
        break;
    case MODEL_ACTION:
        tmp = node_new(s);
        load_from(s, tmp, a1, FACT_WHOLE);
        node_edge(s, tmp, NODE_KEPT);
        store_to(s, call_arg(s, instance, f, 2), NODE_KEPT, FACT_WHOLE);
        call_back(s, instance, fact, tmp, node_new(s), RULE_START);
        break;
    case MODEL_REACH:
        tmp = mix(s, instance, f, true);
        load_from(s, tmp, tmp, FACT_WHOLE);
        node_edge(s, tmp, to);
        break;
    case MODEL_THROW:
        node_edge(s, a0, NODE_THROWN);
        break;
    case MODEL_CATCH:
        node_edge(s, NODE_THROWN, to);
        load_from(s, to, NODE_THROWN, CHUNK_BYTES); /* a thrown pointer is handed out itself */
        blur(s, to, a0);
        break;
    case MODEL_LOOKUP: /* by name: any function that others can see */
        know_names(s);
        node_point(s, to, ANYWHERE);
        break;
    case MODEL_KEEP:
        load_from(s, NODE_KEPT, call_arg(s, instance, f, 3), FACT_WHOLE);
        break;
    case MODEL_KEPT:
        store_to(s, a1, NODE_KEPT, FACT_WHOLE);
        break;
    case MODEL_GIVES:
        tmp = node_new(s);
        node_point(s, tmp, location_whole(s, s->system));
        store_to(s, call_arg(s, instance, f, 3), tmp, 4 * CHUNK_BYTES);
        for (uint32_t i = 0; i < 3; i++)
            call_back(s, instance, fact, call_arg(s, instance, f, i), tmp, RULE_BACK);
        break;
    case MODEL_STRING:
        tmp = mix(s, instance, f, true);
        node_point(s, tmp, heap_object(s, instance, 0));
        node_edge(s, tmp, to);
        break;
    case MODEL_MIX:
        node_edge(s, mix(s, instance, f, true), to);
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

void build_external(struct statics *s, uint32_t instance, uint32_t fact, uint32_t entity)
{
    const struct entity *e = &s->entities[entity];
    const struct model *m = e->model;
    uint32_t caller = s->instances[instance].function, to;
    const struct fact *f = &s->functions[caller].code->facts[fact];
    struct call *c;

    if (!is_first(s, instance, fact, (uint64_t)entity | UINT64_C(1) << 40))
        return;
    if (!m) {
        if (!model_is_system(e->name))
            note_untraced(s, e->name);
        build_world_call(s, instance, fact);
        call_at(s, caller, fact)->world = !model_is_system(e->name);
        return;
    }
    c = call_at(s, caller, fact);
    c->model = m;
    to = value_node(s, instance, f->to);
    special(s, instance, fact, f, m);
    if (m->result == 'h' || m->what == MODEL_HEAP)
        node_point(s, to, heap_object(s, instance, heap_bytes(f, m->name)));
    if (m->result == 's')
        node_point(s, to, location_whole(s, s->system));
    else if (m->result >= '0' && m->result <= '9')
        blur(s, to, call_arg(s, instance, f, (uint32_t)(m->result - '0')));
}

/* ---- facts ---- */

static void build_call(struct statics *s, uint32_t instance, uint32_t fact, const struct fact *f)
{
    uint32_t function = s->instances[instance].function, e;
    int64_t offset = 0;
    struct rule *r;
    bool ifunc;

    call_at(s, function, fact);
    if (f->symbol == FACT_NONE) {
        r = node_rule(s, value_node(s, instance, f->a), RULE_CALL);
        r->node = instance;
        r->offset = fact;
        return;
    }
    e = follow_alias(s, entity_of(s, function, f->symbol), &offset, &ifunc);
    if (ifunc) {
        uint32_t pointer = node_new(s);

        point_at(s, pointer, entity_of(s, function, f->symbol), 0);
        r = node_rule(s, pointer, RULE_CALL);
        r->node = instance;
        r->offset = fact;
        return;
    }
    if (!s->entities[e].nfunctions)
        build_external(s, instance, fact, e);
    for (uint32_t i = 0; i < s->entities[e].nfunctions; i++)
        build_call_target(s, instance, fact, s->entities[e].functions[i]);
}

static void build_stack(struct statics *s, uint32_t instance, uint32_t to, uint32_t size)
{
    uint32_t o = object_new(s, OBJECT_STACK, size, UINT32_MAX);

    s->objects[o].owner = s->instances[instance].function;
    node_point(s, to, location_at(s, o, 0));
}

static void build_varargs(struct statics *s, uint32_t instance, uint32_t list)
{
    uint32_t o = object_new(s, OBJECT_STACK, 0, UINT32_MAX), pointer = node_new(s);
    uint32_t whole = location_whole(s, o);

    s->objects[o].owner = s->instances[instance].function;
    node_point(s, pointer, whole);
    node_edge(s, s->instances[instance].varargs, location_in(s, whole));
    store_to(s, list, pointer, FACT_WHOLE);
}

static void build_fact(struct statics *s, uint32_t instance, uint32_t number)
{
    uint32_t function = s->instances[instance].function;
    const struct fact *f = &s->functions[function].code->facts[number];
    uint32_t to = value_node(s, instance, f->to), a = value_node(s, instance, f->a);
    uint32_t b = value_node(s, instance, f->b);
    struct rule *r;

    switch ((enum fact_op)f->op) {
    case FACT_ADDRESS:
        point_at(s, to, entity_of(s, function, f->symbol), f->offset);
        break;
    case FACT_ALLOCA:
        build_stack(s, instance, to, f->size);
        break;
    case FACT_COPY:
        node_edge(s, a, to);
        break;
    case FACT_OFFSET:
        if (f->offset == 0 && f->stride == 0) {
            node_edge(s, a, to);
            break;
        }
        r = node_rule(s, a, RULE_OFFSET);
        r->node = to;
        r->offset = f->offset;
        r->stride = f->stride;
        r->span = f->span;
        break;
    case FACT_LOAD:
        load_from(s, to, a, f->size);
        break;
    case FACT_STORE:
        store_to(s, a, b, f->size);
        break;
    case FACT_UPDATE:
        load_from(s, to, a, f->size);
        store_to(s, a, b, f->size);
        break;
    case FACT_MOVE:
        move_memory(s, a, b, f->size);
        break;
    case FACT_CALL:
        build_call(s, instance, number, f);
        break;
    case FACT_ASM:
        node_edge(s, mix(s, instance, f, true), to);
        break;
    case FACT_RETURN:
        node_edge(s, a, s->instances[instance].result);
        break;
    case FACT_VARARGS:
        build_varargs(s, instance, a);
        break;
    case FACT_CAUGHT:
        node_edge(s, NODE_THROWN, to);
        break;
    case FACT_THROWN:
        node_edge(s, a, NODE_THROWN);
        break;
    case FACT_ANY:
        node_point(s, to, ANYWHERE);
        break;
    case FACT_FILL:
        break;
    }
}

static void build_instance(struct statics *s, uint32_t instance)
{
    const struct fact_function *code = s->functions[s->instances[instance].function].code;

    for (uint32_t i = 0; i < code->nfacts; i++)
        build_fact(s, instance, i);
}

/* ---- functions that allocate ---- */

static bool call_allocates(const struct statics *s, uint32_t function, const struct fact *f)
{
    int64_t offset = 0;
    const struct entity *e;
    bool ifunc;

    if (f->symbol == FACT_NONE)
        return false;
    e = &s->entities[follow_alias(s, entity_of(s, function, f->symbol), &offset, &ifunc)];
    if (e->model)
        return e->model->result == 'h';
    return e->nfunctions && s->functions[e->functions[0]].allocates;
}

/* May what is returned come from an allocation, and from no memory? Facts are walked from the
 * returns backwards. Calls through pointers may be there, too: allocators that the user may replace
 * (zstd's, lzma's). Cloning a function too many is never wrong. */
static bool returns_fresh(const struct statics *s, uint32_t function, uint8_t *wanted)
{
    const struct fact_function *code = s->functions[function].code;
    bool any = false, more = true;

    memset(wanted, 0, code->nvalues);
    for (uint32_t i = 0; i < code->nfacts; i++)
        if (code->facts[i].op == FACT_RETURN && code->facts[i].a)
            wanted[code->facts[i].a] = 1;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < code->nfacts; i++) {
            const struct fact *f = &code->facts[i];

            if (!f->to || !wanted[f->to] || f->op == FACT_RETURN)
                continue;
            if (f->op == FACT_COPY || f->op == FACT_OFFSET) {
                more |= f->a && !wanted[f->a];
                wanted[f->a] = f->a != 0;
            } else if (f->op == FACT_CALL) {
                any |= call_allocates(s, function, f);
            } else {
                return false;
            }
        }
    }
    return any;
}

static void find_allocators(struct statics *s)
{
    uint8_t *wanted = xcalloc(1 << 16, 1);
    bool more = true;

    for (int round = 0; round < CLONE_DEPTH_MAX && more; round++) {
        more = false;
        for (uint32_t i = 0; i < s->nfunctions; i++) {
            const struct fact_function *code = s->functions[i].code;

            if (s->functions[i].allocates || code->nfacts > CLONE_FACTS_MAX ||
                code->nvalues >= 1 << 16 || !returns_fresh(s, i, wanted))
                continue;
            s->functions[i].allocates = more = true;
        }
    }
    free(wanted);
}

/* main(argc, argv, environ) */
static void build_main(struct statics *s)
{
    uint32_t e = statics_main(s), o;

    if (e == UINT32_MAX) { /* whoever has it may call anything that has a name */
        know_names(s);
        return;
    }
    o = object_new(s, OBJECT_SYSTEM, 0, UINT32_MAX);
    node_point(s, location_in(s, location_whole(s, o)), location_whole(s, o));
    for (uint32_t i = 0; i < s->entities[e].nfunctions; i++) {
        const struct sfunction *f = &s->functions[s->entities[e].functions[i]];

        for (uint32_t k = 1; k < f->code->nparams; k++)
            node_point(s, value_node(s, f->instance, f->code->params[k].value),
                       location_whole(s, o));
    }
}

void statics_build(struct statics *s)
{
    nodes_new(s, NODE_LAST);
    object_new(s, OBJECT_WORLD, 0, UINT32_MAX);
    GROW(s->locations, s->locations_cap, 1);
    GROW(s->same, s->same_cap, 1);
    s->locations[s->nlocations++] = (struct location){ .stride = 1 };
    s->system = object_new(s, OBJECT_SYSTEM, 0, UINT32_MAX);
    node_point(s, location_in(s, location_whole(s, s->system)), location_whole(s, s->system));
    node_point(s, NODE_WORLD, ANYWHERE);
    node_point(s, NODE_ANYWHERE, ANYWHERE);
    node_rule(s, NODE_WORLD, RULE_WORLD);
    make_objects(s);
    find_allocators(s);
    for (uint32_t i = 0; i < s->nfunctions; i++) {
        s->functions[i].instance = (uint32_t)s->ninstances;
        instance_new(s, i, 0, 0);
    }
    for (size_t i = 0; i < s->nmodules; i++)
        initialise(s, &s->modules[i]);
    for (uint32_t i = 0; i < s->nfunctions; i++)
        build_instance(s, s->functions[i].instance);
    build_main(s);
}
