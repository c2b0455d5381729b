/* effects.c - what calls of untraced code may do (effects.h)
 *
 * A graph: a node for each function of each image that is not the system's, an edge to each that
 * it may lead to. Besides for each image a node that leads to all of it, for code that is not
 * understood, and one that leads to every function whose address is taken, for calls through
 * pointers. What a node may do is what can be reached from it; nodes that reach each other do the
 * same, so these are found first (Tarjan), callees before callers.
 */
#include "symbol/effects.h"
#include "base/alloc.h"
#include "base/map.h"
#include "abi/rt_effects.h"
#include "abi/rt_libc.h"
#include "abi/rt_system.h"
#include "symbol/machine.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECES_MAX = 512,    /* of an image: more are joined */
    MEMBERS_MAX = 2048,  /* of a set, and so many bytes: more is anything. The runtime compares */
    BYTES_MAX = 1 << 20, /* all of them with what they held, at each call: 50 us */
    NONE = UINT32_MAX,
    NAMELESS = 1 << 30 /* traced and untraced code together, and nobody can tell them apart */
};

struct image {
    uint64_t base, low, high;
    struct machine code; /* empty: of the system, or not to be read */
    bool known;
    uint32_t order; /* of loading */
    uint32_t first_node, everything, first_piece;
};

struct node {
    uint32_t does; /* enum machine_does */
    uint32_t edges, nedges;
    uint32_t image; /* NONE: any function */
    uint32_t number, lowest, set;
    bool waits;     /* on Tarjan's stack */
    bool disguises; /* it, or what it calls by name, uses disguised pointers */
};

struct definition {
    const char *name;
    uint32_t image;
    const struct machine_symbol *symbol;
    uint32_t next; /* of the same hash, + 1 */
};

struct effects {
    struct image *images;
    size_t nimages, images_cap;
    uint32_t norders;
    /* Made anew each time. */
    struct effects_piece *pieces;
    struct node *nodes;
    uint32_t *edges;
    struct definition *definitions;
    struct map names; /* hash to the last definition, + 1 */
    struct effects_set *sets;
    uint32_t *members;
    struct effects_function *functions;
    struct effects_name *out_names;
    uint32_t *stack, *seen, *list;
    struct map sets_by_hash; /* to set + 1 */
    size_t npieces, nnodes, nedges, ndefinitions, nsets, nmembers, nfunctions, nnames, nstack,
        nlist;
    size_t pieces_cap, nodes_cap, edges_cap, definitions_cap, sets_cap, members_cap, functions_cap,
        names_cap, stack_cap, seen_cap, list_cap;
    uint32_t any, counter, stamp;
    uint32_t traced; /* the set of traced functions */
};

struct effects *effects_new(void)
{
    return xcalloc(1, sizeof(struct effects));
}

static void forget(struct effects *e)
{
    free(e->pieces);
    free(e->nodes);
    free(e->edges);
    free(e->definitions);
    free(e->sets);
    free(e->members);
    free(e->functions);
    free(e->out_names);
    free(e->stack);
    free(e->seen);
    free(e->list);
    map_release(&e->names);
    map_release(&e->sets_by_hash);
    *e = (struct effects){ e->images, e->nimages, e->images_cap, e->norders };
}

void effects_free(struct effects *e)
{
    if (!e)
        return;
    forget(e);
    for (size_t i = 0; i < e->nimages; i++)
        machine_release(&e->images[i].code);
    free(e->images);
    free(e);
}

/* ---- images ---- */

void effects_add(struct effects *e, const char *path, uint64_t base, uint64_t low, uint64_t high)
{
    struct image image = { .base = base, .low = low, .high = high, .order = e->norders++ };
    size_t kept = 0;

    for (size_t i = 0; i < e->nimages; i++)
        if (e->images[i].low == low && e->images[i].base == base && e->images[i].high == high &&
            e->images[i].code.path && strcmp(e->images[i].code.path, path) == 0)
            return;
    for (size_t i = 0; i < e->nimages; i++)
        if (e->images[i].low < high && low < e->images[i].high)
            machine_release(&e->images[i].code);
        else
            e->images[kept++] = e->images[i];
    e->nimages = kept;
    if (!is_silent_library(path) && !machine_read(&image.code, path))
        image.code = (struct machine){ 0 };
    image.known = image.code.nfunctions;
    GROW(e->images, e->images_cap, e->nimages + 1);
    e->images[e->nimages++] = image;
}

/* ---- pieces ---- */

static void add_pieces(struct effects *e, struct image *image)
{
    const struct machine *m = &image->code;
    size_t together = m->npieces / PIECES_MAX + 1;

    image->first_piece = (uint32_t)e->npieces;
    for (size_t i = 0; i < m->npieces; i += together) {
        size_t last = i + together < m->npieces ? i + together : m->npieces;

        GROW(e->pieces, e->pieces_cap, e->npieces + 1);
        e->pieces[e->npieces++] = (struct effects_piece){ image->base + m->pieces[i].low,
                                                          image->base + m->pieces[last - 1].high };
    }
}

static uint32_t piece_of(const struct image *image, uint64_t address)
{
    const struct machine *m = &image->code;
    size_t i = machine_piece_at(m, address);

    return i == m->npieces ? NONE
                           : image->first_piece + (uint32_t)(i / (m->npieces / PIECES_MAX + 1));
}

/* ---- definitions ---- */

static void define(struct effects *e, uint32_t image, const struct machine_symbol *s)
{
    uint32_t *first = map_put(&e->names, effects_hash(s->name), 0);

    GROW(e->definitions, e->definitions_cap, e->ndefinitions + 1);
    e->definitions[e->ndefinitions++] = (struct definition){ s->name, image, s, *first };
    *first = (uint32_t)e->ndefinitions;
}

/* Of the image that is loaded first: those are defined last. */
static const struct definition *find(const struct effects *e, const char *name)
{
    const uint32_t *first = map_get(&e->names, effects_hash(name));

    for (uint32_t i = first ? *first : 0; i; i = e->definitions[i - 1].next)
        if (strcmp(e->definitions[i - 1].name, name) == 0)
            return &e->definitions[i - 1];
    return NULL;
}

static int compare_orders(const void *a, const void *b)
{
    const struct image *const *x = a, *const *y = b;

    return (*x)->order < (*y)->order ? 1 : -1;
}

static void define_all(struct effects *e)
{
    const struct image **last = xcalloc(e->nimages + 1, sizeof(*last));

    for (size_t i = 0; i < e->nimages; i++)
        last[i] = &e->images[i];
    qsort(last, e->nimages, sizeof(*last), compare_orders);
    for (size_t i = 0; i < e->nimages; i++)
        for (size_t k = 0; k < last[i]->code.nsymbols; k++)
            if (last[i]->code.symbols[k].exported)
                define(e, (uint32_t)(last[i] - e->images), &last[i]->code.symbols[k]);
    free(last);
}

/* ---- functions of the system ---- */

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool calls_back(const struct libc_function *f)
{
    return f->args && (strpbrk(f->args, "ctg") || f->does == LIBC_LOOKUP);
}

static bool stores(const struct libc_function *f)
{
    switch (f->does) {
    case LIBC_COPY:
    case LIBC_REALLOC:
    case LIBC_HEAP_AT:
    case LIBC_END:
    case LIBC_MIX:
    case LIBC_TEXT:
    case LIBC_REACH:
    case LIBC_LINK:
    case LIBC_SCAN:
        return true;
    default:
        return false;
    }
}

/* What the C and C++ library's start-up code and the compilers' helpers do is nothing. */
static bool is_helper(const char *name)
{
    static const char *const names[] = {
        "__gmon_start__",   "_ITM_",    "__cxa_", "__stack_chk",
        "__libc_start",     "_Unwind_", "__gxx_", "__gcc_personality",
        "__errno_location", "_ZTI",     "_ZTV",   "_ZTS"
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (starts_with(name, names[i]))
            return true;
    return false;
}

/* Unknown functions may do system calls and call back. */
static uint32_t system_does(const char *name, bool harmless)
{
    const struct libc_function *f;
    uint32_t does = 0;

    if (starts_with(name, "__heddle_"))
        return MACHINE_TRACED;
    if (strcmp(name, "syscall") == 0)
        return harmless ? 0 : MACHINE_KERNEL;
    if (strcmp(name, "__tls_get_addr") == 0)
        return MACHINE_LOCAL;
    does |= strcmp(name, "clone") == 0 || strcmp(name, "__clone") == 0 ? MACHINE_CLONES : 0;
    f = libc_find(name);
    if (!f || f->does == LIBC_UNKNOWN)
        return does | (is_helper(name) ? 0 : MACHINE_KERNEL | MACHINE_POINTER);
    does |= calls_back(f) ? MACHINE_POINTER : 0;
    does |= stores(f) ? MACHINE_STORES : 0;
    does |= f->does == LIBC_GET ? MACHINE_KEYS : 0;
    does |= f->does == LIBC_ORDERS && !f->interposed ? MACHINE_KERNEL : 0;
    return does;
}

/* A pattern may fit what an image brings itself: templates of the C++ library above all. */
static bool is_of_system(const char *name)
{
    const struct libc_function *f = libc_find(name);

    return f && !f->pattern;
}

/* ---- nodes ---- */

static uint32_t add_node(struct effects *e, uint32_t image, uint32_t does)
{
    GROW(e->nodes, e->nodes_cap, e->nnodes + 1);
    e->nodes[e->nnodes] = (struct node){ .does = does, .image = image, .set = NONE };
    return (uint32_t)e->nnodes++;
}

static void add_nodes(struct effects *e)
{
    for (size_t i = 0; i < e->nimages; i++) {
        struct image *image = &e->images[i];

        image->first_node = (uint32_t)e->nnodes;
        for (size_t k = 0; k < image->code.nfunctions; k++)
            add_node(e, (uint32_t)i,
                     image->code.functions[k].does |
                         (image->code.traced && !image->code.named ? NAMELESS : 0));
        image->everything = add_node(e, (uint32_t)i, image->known ? 0 : MACHINE_UNKNOWN);
    }
    e->any = add_node(e, NONE, 0);
}

static uint32_t node_at(const struct effects *e, uint32_t image, uint64_t address)
{
    const struct image *i = &e->images[image];
    const struct machine_function *f = machine_function_at(&i->code, address);

    return f ? i->first_node + (uint32_t)(f - i->code.functions) : NONE;
}

static void add_edge(struct effects *e, uint32_t from, uint32_t to)
{
    if (to == NONE)
        return;
    GROW(e->edges, e->edges_cap, e->nedges + 1);
    e->edges[e->nedges++] = to;
    e->nodes[from].nedges++;
}

/* The function of that name is called; a local one by its address. */
static void call_name(struct effects *e, uint32_t from, const struct machine_call *c)
{
    const char *name = c->symbol;
    const struct definition *d = is_of_system(name) ? NULL : find(e, name);

    if (d && !starts_with(name, "__heddle_"))
        add_edge(e, from, node_at(e, d->image, d->symbol->address));
    else if (!c->weak || libc_find(name))
        e->nodes[from].does |= system_does(name, c->harmless);
}

static const char *runtime_name(const struct machine *m, uint64_t address)
{
    for (size_t i = 0; i < m->nsymbols; i++)
        if (m->symbols[i].address == address && m->symbols[i].code && !m->symbols[i].imported)
            return m->symbols[i].name;
    return NULL;
}

static void call_address(struct effects *e, uint32_t from, uint32_t image,
                         const struct machine_call *c)
{
    uint32_t to = node_at(e, image, c->address);

    if (to == NONE) {
        e->nodes[from].does |= MACHINE_UNKNOWN;
        return;
    }
    if (e->nodes[to].does & MACHINE_RUNTIME) {
        const char *name = runtime_name(&e->images[image].code, c->address);

        e->nodes[from].does |= name ? system_does(name, c->harmless) : MACHINE_TRACED;
        return;
    }
    add_edge(e, from, to);
}

static void add_function_edges(struct effects *e, uint32_t image, uint32_t function)
{
    const struct image *i = &e->images[image];
    const struct machine_function *f = &i->code.functions[function];
    uint32_t node = i->first_node + function;

    e->nodes[node].edges = (uint32_t)e->nedges;
    for (uint32_t k = 0; k < f->ncalls; k++) {
        const struct machine_call *c = &i->code.calls[f->calls + k];

        if (c->symbol)
            call_name(e, node, c);
        else
            call_address(e, node, image, c);
    }
    if (e->nodes[node].does & (MACHINE_POINTER | MACHINE_UNKNOWN))
        add_edge(e, node, e->any);
    if (e->nodes[node].does & MACHINE_UNKNOWN)
        add_edge(e, node, i->everything);
}

static void add_taken(struct effects *e, uint32_t image)
{
    const struct machine *m = &e->images[image].code;

    for (size_t k = 0; k < m->ntaken; k++) {
        const struct definition *d = m->taken[k].symbol ? find(e, m->taken[k].symbol) : NULL;

        if (d)
            add_edge(e, e->any, node_at(e, d->image, d->symbol->address));
        else if (!m->taken[k].symbol)
            add_edge(e, e->any, node_at(e, image, m->taken[k].address));
    }
    for (size_t k = 0; k < m->nrefs; k++) {
        const struct definition *d = m->refs[k].symbol ? find(e, m->refs[k].symbol) : NULL;

        if (d && d->symbol->code)
            add_edge(e, e->any, node_at(e, d->image, d->symbol->address));
    }
}

static void add_edges(struct effects *e)
{
    for (size_t i = 0; i < e->nimages; i++) {
        struct image *image = &e->images[i];

        for (size_t k = 0; k < image->code.nfunctions; k++)
            add_function_edges(e, (uint32_t)i, (uint32_t)k);
        e->nodes[image->everything].edges = (uint32_t)e->nedges;
        for (size_t k = 0; k < image->code.nfunctions; k++)
            add_edge(e, image->everything, image->first_node + (uint32_t)k);
    }
    e->nodes[e->any].edges = (uint32_t)e->nedges;
    for (size_t i = 0; i < e->nimages; i++)
        add_taken(e, (uint32_t)i);
    for (size_t i = 0; i < e->nnodes; i++) /* it is recorded itself */
        if (e->nodes[i].does & (MACHINE_TRACED | MACHINE_RUNTIME)) {
            e->nodes[i].does = MACHINE_TRACED | (e->nodes[i].does & MACHINE_RUNTIME);
            e->nodes[i].nedges = 0;
        }
}

/* ---- sets ---- */

static uint32_t effects_of(uint32_t does)
{
    uint32_t out = 0;

    out |= does & (MACHINE_KERNEL | MACHINE_UNKNOWN) ? EFFECTS_KERNEL : 0;
    out |= does & (MACHINE_LOCAL | MACHINE_UNKNOWN) ? EFFECTS_LOCAL : 0;
    out |= does & (MACHINE_KEYS | MACHINE_UNKNOWN) ? EFFECTS_KEYS : 0;
    out |= does & (MACHINE_STORES | MACHINE_UNKNOWN) ? EFFECTS_STORES : 0;
    out |= does & MACHINE_CLONES ? EFFECTS_CLONES : 0;
    out |= does & NAMELESS ? EFFECTS_ALL : 0;
    return out;
}

static void list_piece(struct effects *e, uint32_t piece)
{
    if (piece == NONE || e->seen[piece] == e->stamp)
        return;
    e->seen[piece] = e->stamp;
    GROW(e->list, e->list_cap, e->nlist + 1);
    e->list[e->nlist++] = piece;
}

static void list_own(struct effects *e, uint32_t node)
{
    uint32_t number = e->nodes[node].image;
    const struct image *image = number == NONE ? NULL : &e->images[number];
    const struct machine_function *f;

    if (!image || e->nodes[node].does & MACHINE_TRACED)
        return;
    if (node == image->everything) {
        for (uint32_t i = 0; i < image->code.npieces; i++)
            list_piece(e, piece_of(image, image->code.pieces[i].low));
        return;
    }
    f = &image->code.functions[node - image->first_node];
    for (uint32_t i = 0; i < f->nrefs; i++) {
        const struct machine_call *r = &image->code.refs[f->refs + i];
        const struct definition *d = r->symbol ? find(e, r->symbol) : NULL;

        if (d)
            list_piece(e, piece_of(&e->images[d->image], d->symbol->address));
        else if (!r->symbol)
            list_piece(e, piece_of(image, r->address));
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static bool is_too_much(const struct effects *e)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < e->nlist; i++)
        bytes += e->pieces[e->list[i]].high - e->pieces[e->list[i]].low;
    return e->nlist > MEMBERS_MAX || bytes > BYTES_MAX;
}

/* The set of the list; equal ones are one. */
static uint32_t make_set(struct effects *e, uint32_t does)
{
    uint64_t hash = does;
    uint32_t *known;

    if (does & EFFECTS_ALL || is_too_much(e)) {
        does |= EFFECTS_ALL;
        e->nlist = 0;
    }
    if (e->nlist)
        qsort(e->list, e->nlist, sizeof(*e->list), compare_numbers);
    for (size_t i = 0; i < e->nlist; i++)
        hash = map_hash(hash ^ e->list[i]);
    known = map_put(&e->sets_by_hash, hash, 0);
    if (*known) {
        const struct effects_set *s = &e->sets[*known - 1];

        if (s->does == does && s->count == e->nlist &&
            (!e->nlist || memcmp(&e->members[s->first], e->list, e->nlist * sizeof(*e->list)) == 0))
            return *known - 1;
    }
    GROW(e->sets, e->sets_cap, e->nsets + 1);
    e->sets[e->nsets] = (struct effects_set){ does, (uint32_t)e->nmembers, (uint32_t)e->nlist, 0 };
    GROW(e->members, e->members_cap, e->nmembers + e->nlist);
    if (e->nlist)
        memcpy(&e->members[e->nmembers], e->list, e->nlist * sizeof(*e->list));
    e->nmembers += e->nlist;
    *known = (uint32_t)++e->nsets;
    return *known - 1;
}

/* ---- nodes that reach each other ---- */

/* All from `node` on Tarjan's stack are one: what they do is what one of them does, or leads to. */
static void finish(struct effects *e, uint32_t node)
{
    size_t first = e->nstack;
    uint32_t does = 0, set;

    while (e->stack[--first] != node)
        ;
    e->stamp++;
    e->nlist = 0;
    for (size_t i = first; i < e->nstack; i++) {
        const struct node *n = &e->nodes[e->stack[i]];

        does |= effects_of(n->does);
        list_own(e, e->stack[i]);
        for (uint32_t k = 0; k < n->nedges; k++) {
            const struct node *to = &e->nodes[e->edges[n->edges + k]];
            const struct effects_set *s = to->set == NONE ? NULL : &e->sets[to->set];

            does |= s ? s->does : 0;
            for (uint32_t j = 0; s && j < s->count; j++)
                list_piece(e, e->members[s->first + j]);
        }
    }
    set = make_set(e, does);
    while (e->nstack > first) {
        uint32_t n = e->stack[--e->nstack];

        e->nodes[n].set = set;
        e->nodes[n].waits = false;
    }
}

struct visit {
    uint32_t node, edge;
};

static void enter(struct effects *e, uint32_t node)
{
    e->nodes[node].number = e->nodes[node].lowest = ++e->counter;
    e->nodes[node].waits = true;
    GROW(e->stack, e->stack_cap, e->nstack + 1);
    e->stack[e->nstack++] = node;
}

static void visit_from(struct effects *e, uint32_t start, struct visit **path, size_t *cap)
{
    size_t depth = 1;

    GROW(*path, *cap, 1);
    (*path)[0] = (struct visit){ start, 0 };
    enter(e, start);
    while (depth) {
        struct visit *v = &(*path)[depth - 1];
        struct node *n = &e->nodes[v->node];

        if (v->edge < n->nedges) {
            uint32_t to = e->edges[n->edges + v->edge++];

            if (!e->nodes[to].number) {
                enter(e, to);
                GROW(*path, *cap, depth + 1);
                (*path)[depth++] = (struct visit){ to, 0 };
            } else if (e->nodes[to].waits && e->nodes[to].number < n->lowest) {
                n->lowest = e->nodes[to].number;
            }
            continue;
        }
        if (n->lowest == n->number)
            finish(e, v->node);
        if (--depth) {
            struct node *caller = &e->nodes[(*path)[depth - 1].node];

            caller->lowest = n->lowest < caller->lowest ? n->lowest : caller->lowest;
        }
    }
}

static void make_sets(struct effects *e)
{
    struct visit *path = NULL;
    size_t cap = 0;

    GROW(e->seen, e->seen_cap, e->npieces + 1);
    for (uint32_t i = 0; i < e->nnodes; i++)
        if (!e->nodes[i].number)
            visit_from(e, i, &path, &cap);
    free(path);
}

/* ---- disguised pointers ---- */

/* Edges backwards: those that lead to node n are callers[first[n]] up to first[n + 1]. */
static void turn_edges(const struct effects *e, uint32_t *first, uint32_t *callers)
{
    for (size_t i = 0; i < e->nnodes; i++) /* traced code has none, whatever is in `edges` */
        for (uint32_t k = 0; k < e->nodes[i].nedges; k++)
            first[e->edges[e->nodes[i].edges + k] + 2]++;
    for (size_t i = 0; i < e->nnodes; i++)
        first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < e->nnodes; i++)
        for (uint32_t k = 0; k < e->nodes[i].nedges; k++)
            callers[first[e->edges[e->nodes[i].edges + k] + 1]++] = i;
}

static void disguise(struct effects *e, uint32_t node)
{
    if (node == e->any || e->nodes[node].disguises)
        return;
    e->nodes[node].disguises = true;
    GROW(e->stack, e->stack_cap, e->nstack + 1);
    e->stack[e->nstack++] = node;
}

/* Not through pointers: what one function of a table does would be true of whoever calls any
 * through a pointer, which is half of a large library, and all of these would be in order. */
static void spread_disguises(struct effects *e)
{
    uint32_t *first = xcalloc(e->nnodes + 3, sizeof(*first));
    uint32_t *callers = xcalloc(e->nedges + 1, sizeof(*callers));

    turn_edges(e, first, callers);
    e->nstack = 0;
    for (uint32_t i = 0; i < e->nnodes; i++)
        if (e->nodes[i].does & MACHINE_DISGUISES)
            disguise(e, i);
    while (e->nstack) {
        uint32_t node = e->stack[--e->nstack];

        for (uint32_t k = first[node]; k < first[node + 1]; k++)
            disguise(e, callers[k]);
    }
    free(first);
    free(callers);
}

static uint32_t disguised_set(struct effects *e, uint32_t set)
{
    struct effects_set s = e->sets[set];

    e->stamp++;
    e->nlist = 0;
    for (uint32_t i = 0; i < s.count; i++)
        list_piece(e, e->members[s.first + i]);
    return make_set(e, s.does | EFFECTS_DISGUISES);
}

static void mark_disguises(struct effects *e)
{
    size_t nsets = e->nsets;
    uint32_t *marked = xcalloc(nsets, sizeof(*marked)); /* number + 1 */

    spread_disguises(e);
    for (size_t i = 0; i < e->nnodes; i++) {
        uint32_t set = e->nodes[i].set;

        if (!e->nodes[i].disguises || set == NONE)
            continue;
        if (!marked[set])
            marked[set] = disguised_set(e, set) + 1;
        e->nodes[i].set = marked[set] - 1;
    }
    free(marked);
}

/* ---- the table ---- */

static void list_functions(struct effects *e)
{
    for (size_t i = 0; i < e->nimages; i++)
        for (size_t k = 0; k < e->images[i].code.nfunctions; k++) {
            GROW(e->functions, e->functions_cap, e->nfunctions + 1);
            e->functions[e->nfunctions++] =
                (struct effects_function){ e->images[i].base + e->images[i].code.functions[k].start,
                                           e->nodes[e->images[i].first_node + k].set, 0 };
        }
}

static void add_name(struct effects *e, const char *name, uint32_t set)
{
    GROW(e->out_names, e->names_cap, e->nnames + 1);
    e->out_names[e->nnames++] = (struct effects_name){ effects_hash(name), set, 0 };
}

static void list_system(struct effects *e, const char *name)
{
    uint32_t does = system_does(name, false);

    e->nlist = 0;
    e->stamp++;
    if (does & MACHINE_POINTER) {
        const struct effects_set *s = &e->sets[e->nodes[e->any].set];
        uint32_t more = s->does;

        for (uint32_t i = 0; i < s->count; i++)
            list_piece(e, e->members[s->first + i]);
        add_name(e, name, make_set(e, effects_of(does) | more));
        return;
    }
    add_name(e, name, make_set(e, effects_of(does)));
}

/* `is_static`: the image has the C library in it. */
static void list_name(struct effects *e, uint32_t image, const struct machine_symbol *s,
                      bool is_static)
{
    const struct definition *d = s->imported ? find(e, s->name) : NULL;
    uint32_t node = d                         ? node_at(e, d->image, d->symbol->address)
                    : s->imported || !s->code ? NONE
                                              : node_at(e, image, s->address);

    if (starts_with(s->name, "__heddle_") || (node == NONE && !(s->imported && !d)))
        return;
    if (node == NONE || e->nodes[node].does & MACHINE_RUNTIME ||
        (is_static && is_of_system(s->name)))
        list_system(e, s->name);
    else
        add_name(e, s->name, e->nodes[node].does & MACHINE_TRACED ? e->traced : e->nodes[node].set);
}

/* What traced code may call by name: what its image imports, and what else is in it. A name of
 * several functions may be listed with several sets. */
static void list_names(struct effects *e, uint32_t image)
{
    const struct machine *m = &e->images[image].code;
    bool is_static = true;

    for (size_t i = 0; i < m->nsymbols; i++)
        is_static &= !m->symbols[i].imported;
    for (size_t i = 0; i < m->nsymbols; i++)
        list_name(e, image, &m->symbols[i], is_static);
}

static int compare_functions(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b; /* both kinds begin with what they are sorted by */

    return *x < *y ? -1 : *x > *y;
}

static void add_array(struct buf *out, const void *array, size_t n, size_t bytes)
{
    static const char zeroes[8];

    if (n)
        buf_add(out, array, n * bytes);
    if (n * bytes % 8)
        buf_add(out, zeroes, 8 - n * bytes % 8);
}

static void write_images(struct effects *e, struct buf *out)
{
    for (size_t i = 0; i < e->nimages; i++) {
        struct effects_image image = { e->images[i].low, e->images[i].high,
                                       e->nodes[e->images[i].everything].set, 0 };

        buf_add(out, &image, sizeof(image));
    }
}

static void write_table(struct effects *e, struct buf *out)
{
    size_t start = out->len;
    struct effects_table t = { 0,
                               (uint32_t)e->nimages,
                               (uint32_t)e->nfunctions,
                               (uint32_t)e->nnames,
                               (uint32_t)e->nsets,
                               (uint32_t)e->nmembers,
                               (uint32_t)e->npieces };

    if (e->nfunctions)
        qsort(e->functions, e->nfunctions, sizeof(*e->functions), compare_functions);
    if (e->nnames)
        qsort(e->out_names, e->nnames, sizeof(*e->out_names), compare_functions);
    buf_add(out, &t, sizeof(t));
    write_images(e, out);
    add_array(out, e->functions, e->nfunctions, sizeof(*e->functions));
    add_array(out, e->out_names, e->nnames, sizeof(*e->out_names));
    add_array(out, e->sets, e->nsets, sizeof(*e->sets));
    add_array(out, e->members, e->nmembers, sizeof(*e->members));
    add_array(out, e->pieces, e->npieces, sizeof(*e->pieces));
    t.bytes = out->len - start;
    memcpy(out->data + start, &t, sizeof(t));
}

static int compare_images(const void *a, const void *b)
{
    const struct image *x = a, *y = b;

    return x->low < y->low ? -1 : x->low > y->low;
}

void effects_make(struct effects *e, struct buf *out)
{
    forget(e);
    if (e->nimages)
        qsort(e->images, e->nimages, sizeof(*e->images), compare_images);
    for (size_t i = 0; i < e->nimages; i++)
        add_pieces(e, &e->images[i]);
    define_all(e);
    add_nodes(e);
    add_edges(e);
    make_sets(e);
    mark_disguises(e);
    list_functions(e);
    e->nlist = 0;
    e->traced = make_set(e, EFFECTS_TRACED);
    for (size_t i = 0; i < e->nimages; i++)
        if (e->images[i].code.traced)
            list_names(e, (uint32_t)i);
    e->nlist = 0;
    add_name(e, EFFECTS_HARMLESS, make_set(e, 0));
    write_table(e, out);
    forget(e);
}
