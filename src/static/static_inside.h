/* static_inside.h - what the files of static analysis share
 *
 * Words. An ENTITY is what a symbol's name means after linking: an object, or functions (several
 * where a weak function exists in several copies and nobody knows which was kept). An OBJECT is
 * memory: a variable, a stack slot, an allocation site. A LOCATION is a place in an object: one
 * offset, or a regular set of offsets. A NODE stands for what some value or some location may
 * point to; an EDGE a -> b says that b holds all that a does. An INSTANCE is a function's values;
 * functions that allocate have one per call.
 *
 * Location 0 is ANYWHERE: all memory that code which is not traced may know. Node NODE_WORLD
 * collects what that code is given; nothing flows out of it: what that code gives back is
 * ANYWHERE, which stands for all of it.
 */
#ifndef HEDDLE_STATIC_STATIC_INSIDE_H
#define HEDDLE_STATIC_STATIC_INSIDE_H

#include "base/intern.h"
#include "base/map.h"
#include "abi/rt_libc.h"
#include "static/static.h"
#include "bitcode/static_facts.h"

#define ANYWHERE 0u
enum {
    NODE_NONE,
    NODE_WORLD,
    NODE_ANYWHERE, /* points to ANYWHERE */
    NODE_BYTES,    /* ANYWHERE, or such parts */
    NODE_PARTS,    /* parts of pointers that untraced code is given, and gives back */
    NODE_THROWN,   /* exceptions */
    NODE_SPECIFIC, /* pthread_setspecific() */
    NODE_HANDED,   /* arguments of new threads */
    NODE_RESULTS,  /* what threads return */
    NODE_DECODED,  /* pointers that may have been in disguise */
    NODE_REBUILT,  /* pointers that were put together from parts */
    NODE_MAPPED,   /* memory whose use may make a signal */
    NODE_CHANNEL,  /* what is written to files, pipes, sockets */
    NODE_CHANNEL_PARTS,
    NODE_KEPT, /* by the kernel, to be given back: epoll_ctl(), signal() */
    NODE_LAST
};

/* ---- sets of locations ---- */

struct set_word {
    uint32_t at; /* bits at * 64 ... */
    uint64_t bits;
};
struct set {
    struct set_word *words; /* by `at`; none is 0 */
    uint32_t count, cap;
};
bool set_has(const struct set *s, uint32_t i);
bool set_add(struct set *s, uint32_t i); /* true: it is new */
bool set_join(struct set *to, const struct set *from);
void set_minus(struct set *out, const struct set *a, const struct set *b); /* out is empty */
void set_meet(struct set *to, const struct set *with);
void set_release(struct set *s);
uint32_t set_size(const struct set *s);
uint64_t set_hash(const struct set *s);
bool set_equal(const struct set *a, const struct set *b);

#define SET_EACH(s, i)                                                                             \
    for (uint32_t w_##i = 0; w_##i < (s)->count; w_##i++)                                          \
        for (uint64_t b_##i = (s)->words[w_##i].bits, i = 0;                                       \
             b_##i && ((i = (s)->words[w_##i].at * 64u + (unsigned)__builtin_ctzll(b_##i)), 1);    \
             b_##i &= b_##i - 1)

/* ---- the program ---- */

struct sfile_module {
    const struct sites_header *sites;
    struct facts *facts;
    uint32_t image;
    uint32_t *entities;      /* of symbols */
    uint32_t first_function; /* number of functions[0] */
    uint32_t *function_at;   /* index in the module -> function + 1 */
    uint32_t nindices;
};

struct entity {
    const char *name;
    uint32_t object;
    uint32_t *functions; /* owned */
    uint32_t nfunctions;
    bool strong; /* of the image at hand, while linking */
    uint32_t image;
    const struct libc_function *model; /* not defined anywhere: what it does */
    bool is_function, is_defined;
    bool ifunc;
    uint32_t alias; /* another entity + 1 */
    int64_t alias_offset;
};

struct sfunction {
    uint32_t module;
    const struct fact_function *code;
    uint32_t entity;
    uint32_t instance; /* the first */
    bool allocates;    /* returns fresh memory: cloned */
    bool escaped;      /* untraced code may call it */
};

struct instance {
    uint32_t function;
    uint32_t base;            /* node of value 0 */
    uint32_t result, varargs; /* nodes */
    uint32_t next;            /* of the function, + 1 */
    uint32_t depth;           /* of clones within clones */
    uint32_t parent;          /* cloned for a call of that instance */
};

enum object_kind {
    OBJECT_WORLD,
    OBJECT_VARIABLE,
    OBJECT_FUNCTION,
    OBJECT_STACK,
    OBJECT_HEAP,
    OBJECT_SYSTEM
};

struct object {
    uint8_t kind;
    bool thread_local_, constant, escaped, shared;
    bool hidden;    /* a pointer to it goes about in a form that a run cannot see */
    bool rebuilt;   /* a pointer to it may have been put together from parts */
    uint64_t bytes; /* 0: not known */
    uint32_t entity;
    uint32_t first;          /* location + 1 */
    uint32_t count, strided; /* locations: places, sets of places */
    uint32_t owner;          /* function, of stack and heap */
};

/* Accesses of less than 8 bytes move parts of pointers. These are kept apart: only where a pointer
 * is loaded from, or put together, do they count as one. */
enum access_width {
    WIDTH_1,
    WIDTH_2,
    WIDTH_4,
    WIDTH_POINTER,
    WIDTH_PARTS, /* parts of any width */
    WIDTHS_IN,
    WIDTH_WHOLE = WIDTHS_IN, /* of loads: pointers that were stored as such */
    WIDTHS_OUT
};
enum { POINTER_BYTES = 8 };

struct location {
    uint32_t object, next; /* next of the object, + 1 */
    int64_t offset;
    uint32_t stride; /* 0: one place */
    uint32_t depth;  /* steps of arithmetic */
    uint64_t span;   /* stride: from offset so far; 0: in the whole object */
    uint32_t in[WIDTHS_IN], out[WIDTHS_OUT]; /* nodes: what is stored there, what a load may see; 0:
                                                none yet */
};

/* ---- constraints ---- */

enum rule_kind {
    RULE_OFFSET,
    RULE_LOAD,
    RULE_STORE,
    RULE_FROM,
    RULE_INTO,
    RULE_CALL,
    RULE_START,
    RULE_BACK,
    RULE_WORLD
};

struct rule {
    uint8_t kind;
    uint32_t node; /* the other one; RULE_CALL: instance */
    uint32_t size; /* of load and store; RULE_FROM, RULE_INTO: chunks, 0: the whole object */
    uint32_t stride;
    int64_t offset; /* RULE_CALL: fact */
    uint64_t span;
    uint32_t next; /* + 1 */
};

struct node {
    uint32_t rep;   /* itself, or who stands for it */
    uint32_t rules; /* + 1 */
    uint32_t *edges;
    uint32_t nedges, edges_cap;
    bool dirty;
    struct set set, done;
};

/* A call in the code, over all instances. */
struct call {
    uint32_t function, fact;
    uint32_t *targets; /* functions */
    uint32_t ntargets;
    size_t cap;
    bool world;                        /* may call whatever untraced code may call */
    bool twice;                        /* may return again: setjmp() */
    const struct libc_function *model; /* of the external function, if it is one */
    uint32_t thread;                   /* it starts that one, + 1 */
    uint64_t kills;                    /* threads that have ended behind it */
    uint32_t next;                     /* of the function, by fact; + 1 */
};

struct statics {
    const struct linked *linked;
    const struct facts_api *api;
    struct sfile_module *modules;
    size_t nmodules, modules_cap;
    struct entity *entities;
    size_t nentities, entities_cap;
    struct intern names;
    struct sfunction *functions;
    size_t nfunctions, functions_cap;
    struct instance *instances;
    size_t ninstances, instances_cap;
    struct object *objects;
    size_t nobjects, objects_cap;
    struct location *locations;
    size_t nlocations, locations_cap;
    struct map location_of; /* hash -> location + 1, chained by `same` */
    uint32_t *same;
    size_t same_cap;
    struct node *nodes;
    size_t nnodes, nodes_cap;
    struct rule *rules;
    size_t nrules, rules_cap;
    struct map edges;
    uint64_t nedges;
    struct set known; /* locations of escaped objects */
    bool grown;       /* edges were added since cycles were looked for */
    struct call *calls;
    size_t ncalls, calls_cap;
    struct map call_of; /* function << 32 | fact -> call + 1 */
    struct map bound;   /* (call's instance and fact, function) hash: bound already */
    uint32_t system;    /* object: what the C library keeps */
    uint32_t signal;    /* object: what a signal's handler is given */
    uint32_t mapping;   /* object: files and memory that several may have mapped */
    bool receives;      /* something is read from files, pipes, sockets */
    struct map clones;  /* instance << 32 | fact -> instance + 1 */
    uint64_t clone_facts;
    struct map waiting; /* instances not yet built */
    struct threads *threads;
    struct locks *locks;
    char **untraced;
    size_t nuntraced, untraced_cap;
    struct statics_counters counters;
};

/* static_link.c */
int statics_load(struct statics *s, struct error *err);
void statics_unload(struct statics *s);
/* The entity of main(); UINT32_MAX: it is not traced. */
uint32_t statics_main(const struct statics *s);
static inline const struct fact_function *function_code(const struct statics *s, uint32_t f)
{
    return s->functions[f].code;
}
static inline uint32_t entity_of(const struct statics *s, uint32_t function, uint32_t symbol)
{
    return s->modules[s->functions[function].module].entities[symbol];
}

/* static_graph.c: nodes, locations, the solver */
uint32_t node_new(struct statics *s);
uint32_t nodes_new(struct statics *s, uint32_t n);
static inline uint32_t node_rep(struct statics *s, uint32_t n)
{
    while (s->nodes[n].rep != n) {
        s->nodes[n].rep = s->nodes[s->nodes[n].rep].rep;
        n = s->nodes[n].rep;
    }
    return n;
}
static inline const struct set *node_set(struct statics *s, uint32_t n)
{
    return &s->nodes[node_rep(s, n)].set;
}
void node_edge(struct statics *s, uint32_t from, uint32_t to);
void node_point(struct statics *s, uint32_t node, uint32_t location);
struct rule *node_rule(struct statics *s, uint32_t node, enum rule_kind kind);
uint32_t object_new(struct statics *s, enum object_kind kind, uint64_t bytes, uint32_t entity);
uint32_t location_at(struct statics *s, uint32_t object, int64_t offset);
uint32_t location_whole(struct statics *s, uint32_t object);
/* May parts of pointers be stored there? Not where the C library has its own, nor in constants. */
bool location_has_parts(const struct statics *s, uint32_t location);
/* Nodes: what accesses of that width store there, and what they may see. */
enum access_width access_width(uint64_t bytes);
uint32_t location_in(struct statics *s, uint32_t location, enum access_width width);
uint32_t location_out(struct statics *s, uint32_t location, enum access_width width);
/* Do `a_bytes` at a and `b_bytes` at b have a byte in common? Of one object. */
bool locations_meet(const struct location *a, uint64_t a_bytes, const struct location *b,
                    uint64_t b_bytes);
/* May an access of so many bytes there be within the object? One that is not is no access. */
bool location_fits(const struct statics *s, const struct location *l, uint64_t bytes);
/* The location that arithmetic leads to; UINT32_MAX: out of the object. */
uint32_t location_move(struct statics *s, uint32_t from, int64_t offset, uint32_t stride,
                       uint64_t span);
void nodes_solve(struct statics *s);
void nodes_release(struct statics *s);

/* static_build.c: constraints */
void statics_build(struct statics *s);
void build_call_target(struct statics *s, uint32_t instance, uint32_t fact, uint32_t function);
void build_escape(struct statics *s, uint32_t object);
void build_world_call(struct statics *s, uint32_t instance, uint32_t fact);
/* Nodes: to = *pointer; *pointer = value; *to = *from; any place in what `from` points to. Of so
 * many bytes; FACT_WHOLE: anywhere in it. */
void build_load(struct statics *s, uint32_t to, uint32_t pointer, uint32_t size);
void build_store(struct statics *s, uint32_t pointer, uint32_t value, uint32_t size);
void build_move(struct statics *s, uint32_t to, uint32_t from, uint32_t size);
void build_blur(struct statics *s, uint32_t to, uint32_t from);
/* True the first time that it is asked for these. */
bool build_first(struct statics *s, uint64_t a, uint64_t b, uint64_t c);
/* The function is started as a thread (function, fact), with what the node holds. */
void build_start(struct statics *s, uint32_t function, uint32_t argument, uint32_t creator,
                 uint32_t fact);
/* A callback that the called function runs before it returns. */
void build_back(struct statics *s, uint32_t function, uint32_t argument, uint32_t caller,
                uint32_t fact);
/* Any function that untraced code knows is called back (`back`) or started. */
void build_world_start(struct statics *s, uint32_t argument, uint32_t caller, uint32_t fact,
                       bool back);
struct call *call_at(struct statics *s, uint32_t function, uint32_t fact);
void call_add(struct statics *s, uint32_t function, uint32_t fact, uint32_t target);
static inline uint32_t value_node(const struct statics *s, uint32_t instance, uint32_t value)
{
    return value ? s->instances[instance].base + value : NODE_NONE;
}
static inline uint32_t code_arg(const struct statics *s, uint32_t function, const struct fact *f,
                                uint32_t i)
{
    return i < f->nargs ? s->functions[function].code->args[f->args + i] : 0;
}
static inline uint32_t call_arg(const struct statics *s, uint32_t instance, const struct fact *f,
                                uint32_t i)
{
    return value_node(s, instance, code_arg(s, s->instances[instance].function, f, i));
}

/* static_others.c: functions of others */
void build_external(struct statics *s, uint32_t instance, uint32_t fact, uint32_t entity);
/* How many bytes of argument i a call touches; FACT_WHOLE: it is no constant. */
uint32_t model_bytes(const struct libc_function *m, const struct fact *f, unsigned i);
/* Pointers to all arguments, and with `memory` to what is in theirs; two nodes: parts are in the
 * second. */
uint32_t build_mix(struct statics *s, uint32_t instance, const struct fact *f, bool memory);
/* Untraced code may find by name whatever has one. */
void build_names(struct statics *s);

/* static_share.c: sets `shared` and `hidden` of objects */
void statics_share(struct statics *s);

/* static_model.c: what they do. NULL: not known, or anything. */
const struct libc_function *model_find(const char *name);
/* A function of the C or C++ library without a model: it starts no threads. */
bool model_is_system(const char *name);
bool model_is_variable(const char *name); /* of the C library */

/* static_threads.c */
enum { THREADS_MAX = 64, THREAD_MAIN = 0, THREAD_OTHER = 1 /* untraced code, handlers */ };
void threads_find(struct statics *s);
void threads_release(struct statics *s);
/* Which threads may run the function, as bits. */
uint64_t threads_of(const struct statics *s, uint32_t function);
/* Which threads may run at the same time when `thread` is at the fact. */
uint64_t threads_beside(const struct statics *s, uint32_t thread, uint32_t function, uint32_t fact);

/* static_locks.c */
void locks_find(struct statics *s);
void locks_release(struct statics *s);
/* Locks that are held at the fact whoever runs it, as bits. */
uint64_t locks_held(const struct statics *s, uint32_t function, uint32_t fact);

/* static_pairs.c: see static.h */

#endif
