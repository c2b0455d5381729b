/* static_build.c - from facts to constraints
 *
 * One instance of values per function, plus one per call of a function that returns memory it
 * allocated (xmalloc, new_node ...), so that what such functions return at different places is
 * different memory. Function pointers are resolved while solving.
 */
#include "base/alloc.h"
#include "static/static_inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLONE_DEPTH_MAX = 3,      /* zmalloc() calls ztrymalloc() calls ... */
    CLONE_FACTS_MAX = 300,    /* of a function: what is longer is no wrapper */
    CLONES_FACTS_MAX = 400000 /* of all clones: half of a big program */
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
bool build_first(struct statics *s, uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t *known = map_put(&s->bound, map_hash(map_hash(a << 32 | b) + c), 0);

    return !(*known)++;
}

/* ---- memory moves ---- */

void build_load(struct statics *s, uint32_t to, uint32_t pointer, uint32_t size)
{
    struct rule *r;

    if (!to || !pointer)
        return;
    r = node_rule(s, pointer, RULE_LOAD);
    r->node = to;
    r->size = size;
}

void build_store(struct statics *s, uint32_t pointer, uint32_t value, uint32_t size)
{
    struct rule *r;

    if (!value || !pointer)
        return;
    r = node_rule(s, pointer, RULE_STORE);
    r->node = value;
    r->size = size;
}

void build_move(struct statics *s, uint32_t to, uint32_t from, uint32_t size)
{
    uint32_t n = size > 256 ? 0 : (size + POINTER_BYTES - 1) / POINTER_BYTES, first;
    struct rule *r;

    if (!to || !from || !size)
        return;
    if (size < POINTER_BYTES) {
        first = node_new(s);
        build_load(s, first, from, size);
        build_store(s, to, first, size);
        return;
    }
    first = nodes_new(s, n ? 2 * n : 2);
    r = node_rule(s, from, RULE_FROM);
    r->node = first;
    r->size = n;
    r = node_rule(s, to, RULE_INTO);
    r->node = first;
    r->size = n;
}

void build_blur(struct statics *s, uint32_t to, uint32_t from)
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
            node_point(s, location_in(s, location_whole(s, y->object), WIDTH_POINTER),
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

            point_at(s, location_in(s, at, WIDTH_POINTER), m->entities[p->symbol], p->offset);
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

        if (i >= code->nparams && code->varargs) {
            node_edge(s, arg, n.varargs);
            if (f->flags & FACT_BYVAL) /* the structure itself is among the arguments */
                build_load(s, n.varargs, arg, FACT_WHOLE);
        } else if (i >= code->nparams)
            continue;
        else if (code->params[i].byval)
            build_move(s, value_node(s, callee, code->params[i].value), arg, code->params[i].byval);
        else
            node_edge(s, arg, value_node(s, callee, code->params[i].value));
    }
    node_edge(s, n.result, value_node(s, caller, f->to));
}

void build_call_target(struct statics *s, uint32_t instance, uint32_t fact, uint32_t function)
{
    uint32_t caller = s->instances[instance].function;
    const struct fact *f = &s->functions[caller].code->facts[fact];

    if (!build_first(s, instance, fact, function))
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
    for (uint32_t i = 0; i < code->nparams; i++) /* on_exit() and handlers have it further back */
        node_edge(s, argument, value_node(s, n, code->params[i].value));
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

/* What untraced code gets and gives: pointers, or parts of them. */
static uint32_t world_node(const struct statics *s, uint32_t function, uint32_t value)
{
    return s->functions[function].code->narrow[value] ? NODE_PARTS : NODE_WORLD;
}

static void take_from_world(struct statics *s, uint32_t instance, uint32_t value)
{
    if (s->functions[s->instances[instance].function].code->narrow[value])
        node_edge(s, NODE_PARTS, value_node(s, instance, value));
    else
        node_point(s, value_node(s, instance, value), ANYWHERE);
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

        node_point(s, location_in(s, whole, WIDTH_POINTER), ANYWHERE);
        node_edge(s, location_out(s, whole, WIDTH_WHOLE), NODE_WORLD);
        node_edge(s, NODE_PARTS, location_in(s, whole, WIDTH_PARTS));
        node_edge(s, location_out(s, whole, WIDTH_PARTS), NODE_PARTS);
        return;
    }
    e = s->entities[s->objects[object].entity];
    for (uint32_t i = 0; i < e.nfunctions; i++) {
        struct sfunction *f = &s->functions[e.functions[i]];

        f->escaped = true;
        for (uint32_t k = 0; k < f->code->nparams; k++)
            take_from_world(s, f->instance, f->code->params[k].value);
        node_point(s, s->instances[f->instance].varargs, ANYWHERE);
        node_edge(s, s->instances[f->instance].result, NODE_WORLD);
    }
}

/* Whoever is called there, everything it is given is known to untraced code. */
void build_world_call(struct statics *s, uint32_t instance, uint32_t fact)
{
    uint32_t caller = s->instances[instance].function;
    const struct fact *f = &s->functions[caller].code->facts[fact];

    if (!build_first(s, instance, fact, UINT64_MAX))
        return;
    call_at(s, caller, fact)->world = true;
    for (uint32_t i = 0; i < f->nargs; i++)
        node_edge(s, call_arg(s, instance, f, i), world_node(s, caller, code_arg(s, caller, f, i)));
    take_from_world(s, instance, f->to);
}

/* ---- facts ---- */

static void build_call(struct statics *s, uint32_t instance, uint32_t fact, const struct fact *f)
{
    uint32_t function = s->instances[instance].function, e;
    int64_t offset = 0;
    struct rule *r;
    bool ifunc;

    call_at(s, function, fact)->twice = f->flags & FACT_TWICE;
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
    node_edge(s, s->instances[instance].varargs, location_in(s, whole, WIDTH_POINTER));
    build_store(s, list, pointer, FACT_WHOLE);
}

/* A vector of bytes holds parts of pointers, however long it is. */
static void store_value(struct statics *s, uint32_t instance, const struct fact *f)
{
    uint32_t pointer = value_node(s, instance, f->a), value = value_node(s, instance, f->b);
    struct rule *r;

    if (!pointer || !value)
        return;
    r = node_rule(s, pointer, RULE_STORE);
    r->node = value;
    r->size = f->size;
    r->stride = f->size >= POINTER_BYTES &&
                s->functions[s->instances[instance].function].code->narrow[f->b];
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
        build_load(s, to, a, f->size);
        break;
    case FACT_STORE:
    case FACT_UPDATE:
        build_load(s, to, a, f->size);
        store_value(s, instance, f);
        break;
    case FACT_MOVE:
        build_move(s, a, b, f->size);
        break;
    case FACT_CALL:
        build_call(s, instance, number, f);
        break;
    case FACT_ASM:
        node_edge(s, build_mix(s, instance, f, true), to);
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
    case FACT_REBUILT:
        node_edge(s, a, NODE_REBUILT);
        break;
    case FACT_DECODED:
        node_edge(s, a, NODE_DECODED);
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
        return e->model->does != LIBC_REALLOC &&
               strpbrk(e->model->result, "hH") == e->model->result;
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
        build_names(s);
        return;
    }
    o = object_new(s, OBJECT_SYSTEM, 0, UINT32_MAX);
    node_point(s, location_in(s, location_whole(s, o), WIDTH_POINTER), location_whole(s, o));
    for (uint32_t i = 0; i < s->entities[e].nfunctions; i++) {
        const struct sfunction *f = &s->functions[s->entities[e].functions[i]];

        for (uint32_t k = 1; k < f->code->nparams; k++)
            node_point(s, value_node(s, f->instance, f->code->params[k].value),
                       location_whole(s, o));
    }
}

/* A signal's handler may be given a pointer that was sent with it (sigqueue() is untraced code),
 * registers, or the address of a page fault. What several may have mapped is also what is in files.
 */
static void make_hidden_objects(struct statics *s)
{
    uint32_t whole, pointer = node_new(s);

    s->signal = object_new(s, OBJECT_SYSTEM, 0, UINT32_MAX);
    s->mapping = object_new(s, OBJECT_HEAP, 0, UINT32_MAX);
    whole = location_whole(s, s->signal);
    node_point(s, location_in(s, whole, WIDTH_POINTER), ANYWHERE);
    node_point(s, location_in(s, whole, WIDTH_POINTER), whole);
    node_edge(s, NODE_MAPPED, location_in(s, whole, WIDTH_POINTER));
    node_point(s, pointer, location_whole(s, s->mapping));
    node_rule(s, pointer, RULE_FROM)->node = NODE_CHANNEL;
    node_rule(s, pointer, RULE_INTO)->node = NODE_CHANNEL;
}

void statics_build(struct statics *s)
{
    nodes_new(s, NODE_LAST);
    object_new(s, OBJECT_WORLD, 0, UINT32_MAX);
    GROW(s->locations, s->locations_cap, 1);
    GROW(s->same, s->same_cap, 1);
    s->locations[s->nlocations++] = (struct location){ .stride = 1 };
    s->system = object_new(s, OBJECT_SYSTEM, 0, UINT32_MAX);
    node_point(s, location_in(s, location_whole(s, s->system), WIDTH_POINTER),
               location_whole(s, s->system));
    make_hidden_objects(s);
    node_point(s, NODE_WORLD, ANYWHERE);
    node_point(s, NODE_ANYWHERE, ANYWHERE);
    node_point(s, NODE_BYTES, ANYWHERE);
    node_edge(s, NODE_PARTS, NODE_BYTES);
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
