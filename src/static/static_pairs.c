/* static_pairs.c - from points-to sets and threads to pairs of sites
 *
 * A site's accesses are PARTS: a set of locations, a size, read or write, atomic or not. Sites
 * with the same parts, the same threads beside them and (lockset) the same locks are a CLASS; all
 * of a class have the same partners. Parts that meet are found object by object, then classes.
 *
 * Only shared memory counts (static_share.c).
 */
#include "base/alloc.h"
#include "static/static_inside.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 4 /* of a call: reads, writes, what the C library keeps */ };

struct part {
    struct set set; /* locations of shared objects */
    uint64_t bytes;
    bool write, atomic;
    bool any;      /* all memory that untraced code knows */
    bool escaped;  /* touches such memory */
    bool hidden;   /* touches memory to which pointers go unseen */
    uint32_t next; /* of the same hash, + 1 */
    uint32_t *classes;
    size_t nclasses, cap;
};

/* Which threads may be at a site, and what runs beside them. */
struct company {
    unsigned count;
    uint8_t thread[THREADS_MAX];
    uint64_t beside[THREADS_MAX];
};

struct site_class {
    uint32_t company;
    uint64_t locks;
    uint32_t parts[PARTS_MAX];
    unsigned nparts;
    uint32_t next;
    uint32_t number; /* in the result + 1; 0: in no pair */
};

struct listed {
    struct prod_site id;
    uint32_t class_;
};

struct bits {
    uint64_t *words;
    size_t width; /* words of a row */
};

struct finder {
    struct statics *s;
    bool lockset;
    struct map fact_of; /* function << 32 | index -> fact + 1 of accesses */
    struct part *parts;
    size_t nparts, parts_cap;
    struct map part_of;
    struct company *companies;
    size_t ncompanies, companies_cap;
    struct site_class *classes;
    size_t nclasses, classes_cap;
    struct map class_of;
    struct listed *sites;
    size_t nsites, sites_cap;
    struct bits met;    /* of parts */
    struct bits paired; /* of classes */
    struct pairs *out;
};

/* ---- parts ---- */

static uint32_t intern_part(struct finder *w, struct part *p)
{
    uint64_t key =
        map_hash(set_hash(&p->set) + p->bytes * 8 + p->write * 4u + p->atomic * 2u + p->any);
    uint32_t *first = map_put(&w->part_of, key, 0);

    for (uint32_t i = *first; i; i = w->parts[i - 1].next) {
        const struct part *q = &w->parts[i - 1];

        if (q->bytes == p->bytes && q->write == p->write && q->atomic == p->atomic &&
            q->any == p->any && set_equal(&q->set, &p->set)) {
            set_release(&p->set);
            return i - 1;
        }
    }
    GROW(w->parts, w->parts_cap, w->nparts + 1);
    p->next = *first;
    w->parts[w->nparts++] = *p;
    *first = (uint32_t)w->nparts;
    return (uint32_t)w->nparts - 1;
}

/* The shared part of what the nodes point to; UINT32_MAX: nothing. */
static uint32_t make_part(struct finder *w, const struct set *from, uint64_t bytes, bool write,
                          bool atomic)
{
    struct statics *s = w->s;
    struct part p = { .bytes = bytes, .write = write, .atomic = atomic };

    p.any = set_has(from, ANYWHERE);
    p.hidden = p.any && s->objects[0].hidden;
    SET_EACH(from, l)
    {
        const struct object *o = &s->objects[s->locations[l].object];

        if (l == ANYWHERE || (p.any && o->escaped))
            continue; /* ANYWHERE stands for all that has escaped */
        if (o->shared && !o->constant && o->kind != OBJECT_FUNCTION &&
            location_fits(s, &s->locations[l], bytes)) {
            set_add(&p.set, (uint32_t)l);
            p.escaped |= o->escaped;
            p.hidden |= o->hidden;
        }
    }
    if (!p.set.count && !p.any)
        return UINT32_MAX;
    return intern_part(w, &p);
}

struct touching {
    uint32_t parts[PARTS_MAX];
    unsigned count;
};

static void static_pairs_touch(struct finder *w, struct touching *t, const struct set *set,
                               uint64_t bytes, bool write, bool atomic)
{
    uint32_t part = make_part(w, set, bytes, write, atomic);

    for (unsigned i = 0; i < t->count; i++)
        if (t->parts[i] == part)
            return;
    if (part != UINT32_MAX)
        t->parts[t->count++] = part;
}

static void touch_value(struct finder *w, struct touching *t, uint32_t function, uint32_t value,
                        uint64_t bytes, bool write, bool atomic)
{
    struct statics *s = w->s;
    struct set all = { 0 };

    for (uint32_t i = s->functions[function].instance + 1; value && i; i = s->instances[i - 1].next)
        set_join(&all, node_set(s, value_node(s, i - 1, value)));
    static_pairs_touch(w, t, &all, bytes, write, atomic);
    set_release(&all);
}

static void touch_anything(struct finder *w, struct touching *t)
{
    struct set any = { 0 };

    set_add(&any, ANYWHERE);
    static_pairs_touch(w, t, &any, 1, true, false);
    set_release(&any);
}

/* Whatever is in the memory of these, at any place. */
static void join_contents(struct statics *s, struct set *to, const struct set *from)
{
    SET_EACH(from, l)
    for (uint32_t k = s->objects[s->locations[l].object].first; k; k = s->locations[k - 1].next)
        for (unsigned w = 0; w < WIDTHS_IN; w++)
            if (s->locations[k - 1].in[w])
                set_join(to, node_set(s, s->locations[k - 1].in[w]));
}

/* With what they lead to, two steps far; of that any place. */
static void join_reached(struct statics *s, struct set *to, const struct set *from)
{
    struct set now = { 0 }, next = { 0 };

    set_join(&now, from);
    for (int step = 0; step < 3; step++) {
        SET_EACH(&now, l)
        set_add(to, step ? location_whole(s, s->locations[l].object) : (uint32_t)l);
        join_contents(s, &next, &now);
        set_release(&now);
        now = next;
        next = (struct set){ 0 };
    }
    set_release(&now);
}

/* What a call reads and what it writes, and how many bytes at most. */
struct call_memory {
    struct set reads, writes;
    uint64_t nread, nwritten;
};

static void touch_argument(struct statics *s, struct call_memory *c, const struct set *set,
                           char how, uint64_t bytes)
{
    bool far = how == 'R' || how == 'W' || how == 'B';

    if (how && strchr("rbRB", how)) {
        c->nread = bytes > c->nread ? bytes : c->nread;
        far ? join_reached(s, &c->reads, set) : (void)set_join(&c->reads, set);
    }
    if (how && strchr("wbfWB", how)) {
        c->nwritten = bytes > c->nwritten ? bytes : c->nwritten;
        far ? join_reached(s, &c->writes, set) : (void)set_join(&c->writes, set);
    }
}

static void touch_hidden(struct finder *w, struct touching *t, const struct libc_function *m)
{
    struct set system = { 0 };

    if (!m || !libc_hidden(m))
        return;
    set_add(&system, location_whole(w->s, w->s->system));
    static_pairs_touch(w, t, &system, 1, libc_hidden(m) == 'w', false);
    set_release(&system);
}

/* Arguments of a call: of libc as the table says, of others anything. */
static void touch_call(struct finder *w, struct touching *t, uint32_t function,
                       const struct fact *f, bool atomic)
{
    struct statics *s = w->s;
    const struct libc_function *m =
        f->symbol != FACT_NONE ? s->entities[entity_of(s, function, f->symbol)].model : NULL;
    struct call_memory c = { 0 };

    for (uint32_t k = 0; k < f->nargs; k++) {
        char how = m ? libc_touch(m, k) : 'B';
        uint32_t constant = m ? model_bytes(m, f, k) : FACT_WHOLE;

        if (f->flags & FACT_FORMAT && how)
            how = how == 'r' ? 'b' : how == 'R' ? 'B' : how;
        for (uint32_t i = s->functions[function].instance + 1; i; i = s->instances[i - 1].next)
            touch_argument(s, &c, node_set(s, call_arg(s, i - 1, f, k)), how,
                           constant == FACT_WHOLE ? UINT64_MAX : constant);
    }
    static_pairs_touch(w, t, &c.reads, c.nread, false, atomic);
    static_pairs_touch(w, t, &c.writes, c.nwritten, true, atomic);
    touch_hidden(w, t, m);
    set_release(&c.reads);
    set_release(&c.writes);
}

static void touch_site(struct finder *w, struct touching *t, uint32_t function, uint32_t fact,
                       uint32_t kind)
{
    const struct fact *f = &w->s->functions[function].code->facts[fact];
    bool atomic = kind == SITE_ATOMIC;
    uint64_t bytes = f->size == FACT_WHOLE ? UINT64_MAX : f->size;

    switch ((enum fact_op)f->op) {
    case FACT_LOAD:
        touch_value(w, t, function, f->a, bytes, false, atomic);
        break;
    case FACT_STORE:
    case FACT_UPDATE:
    case FACT_FILL:
        touch_value(w, t, function, f->a, bytes, true, atomic);
        break;
    case FACT_MOVE:
        touch_value(w, t, function, kind == SITE_READ ? f->b : f->a, bytes, kind != SITE_READ,
                    false);
        break;
    case FACT_ASM:
        touch_call(w, t, function, f, atomic);
        break;
    case FACT_CALL: /* of libatomic: some arguments are plain memory */
        touch_call(w, t, function, f, false);
        break;
    default:
        touch_anything(w, t);
        break;
    }
}

/* ---- classes ---- */

static uint32_t company_of(struct finder *w, uint32_t function, uint32_t fact)
{
    struct statics *s = w->s;
    uint64_t runs = threads_of(s, function);
    struct company c;

    memset(&c, 0, sizeof(c));
    for (unsigned t = 0; t < THREADS_MAX; t++) {
        uint64_t beside = runs >> t & 1 ? threads_beside(s, t, function, fact) : 0;

        if (!beside)
            continue;
        c.thread[c.count] = (uint8_t)t;
        c.beside[c.count++] = beside;
    }
    if (!c.count)
        return UINT32_MAX;
    for (size_t i = w->ncompanies; i > 0; i--)
        if (memcmp(&w->companies[i - 1], &c, sizeof(c)) == 0)
            return (uint32_t)i - 1;
    GROW(w->companies, w->companies_cap, w->ncompanies + 1);
    w->companies[w->ncompanies] = c;
    return (uint32_t)w->ncompanies++;
}

static int compare_parts(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static uint32_t intern_class(struct finder *w, uint32_t company, uint64_t locks, struct touching *t)
{
    struct site_class c = { .company = company, .locks = locks, .nparts = t->count };
    uint64_t key = map_hash(locks + company);
    uint32_t *first;

    qsort(t->parts, t->count, sizeof(*t->parts), compare_parts);
    for (unsigned i = 0; i < t->count; i++) {
        c.parts[i] = t->parts[i];
        key = map_hash(key + t->parts[i] + 1);
    }
    first = map_put(&w->class_of, key, 0);
    for (uint32_t i = *first; i; i = w->classes[i - 1].next) {
        const struct site_class *d = &w->classes[i - 1];

        if (d->company == company && d->locks == locks && d->nparts == c.nparts &&
            memcmp(d->parts, c.parts, sizeof(c.parts)) == 0)
            return i - 1;
    }
    c.next = *first;
    GROW(w->classes, w->classes_cap, w->nclasses + 1);
    w->classes[w->nclasses++] = c;
    *first = (uint32_t)w->nclasses;
    for (unsigned i = 0; i < c.nparts; i++) {
        struct part *p = &w->parts[c.parts[i]];

        GROW(p->classes, p->cap, p->nclasses + 1);
        p->classes[p->nclasses++] = (uint32_t)w->nclasses - 1;
    }
    return (uint32_t)w->nclasses - 1;
}

/* ---- sites ---- */

static bool is_access(const struct fact *f)
{
    return f->op == FACT_LOAD || f->op == FACT_STORE || f->op == FACT_UPDATE ||
           f->op == FACT_MOVE || f->op == FACT_FILL || f->op == FACT_CALL || f->op == FACT_ASM;
}

static void index_facts(struct finder *w)
{
    for (uint32_t f = 0; f < w->s->nfunctions; f++) {
        const struct fact_function *code = w->s->functions[f].code;

        for (uint32_t i = 0; i < code->nfacts; i++)
            if (is_access(&code->facts[i]) && code->facts[i].index != FACT_NONE)
                *map_put(&w->fact_of, (uint64_t)f << 32 | code->facts[i].index, 0) = i + 1;
    }
}

static void static_pairs_add_site(struct finder *w, const struct sfile_module *m, uint32_t index)
{
    struct statics *s = w->s;
    const struct sites_site *site = sites_site(m->sites, index);
    uint32_t at = site->function_index < m->nindices ? m->function_at[site->function_index] : 0;
    uint32_t *fact =
        at ? map_get(&w->fact_of, (uint64_t)(at - 1) << 32 | site->instruction_index) : NULL;
    struct touching t = { .count = 0 };
    uint32_t company;

    s->counters.accesses++;
    if (!fact) { /* a fence touches nothing */
        s->counters.unplaced += site->kind != SITE_ATOMIC || site->size != 0;
        if (site->kind == SITE_ATOMIC && site->size == 0)
            return;
    }
    if (at && !threads_of(s, at - 1)) {
        s->counters.unreached++;
        return;
    }
    if (fact)
        touch_site(w, &t, at - 1, *fact - 1, site->kind);
    else
        touch_anything(w, &t);
    if (!t.count) {
        s->counters.private_++;
        return;
    }
    company = at ? company_of(w, at - 1, fact ? *fact - 1 : 0) : UINT32_MAX;
    if (company == UINT32_MAX) {
        s->counters.sequential++;
        return;
    }
    GROW(w->sites, w->sites_cap, w->nsites + 1);
    struct listed *l = &w->sites[w->nsites++];
    *l = (struct listed){ .id = { .index = index, .flags = site->kind } };
    memcpy(l->id.module, m->sites->id, sizeof(l->id.module));
    uint64_t locks = w->lockset && fact ? locks_held(s, at - 1, *fact - 1) : 0;
    l->class_ = intern_class(w, company, locks, &t);
}

static void list_sites(struct finder *w)
{
    for (size_t i = 0; i < w->s->nmodules; i++) {
        const struct sfile_module *m = &w->s->modules[i];

        for (uint32_t k = 0; k < m->sites->nsites; k++) {
            uint8_t kind = sites_site(m->sites, k)->kind;

            if (kind == SITE_READ || kind == SITE_WRITE || kind == SITE_ATOMIC || kind == SITE_LIBC)
                static_pairs_add_site(w, m, k);
        }
    }
}

/* ---- pairs ---- */

/* Rows of bits: which parts meet a part, which classes pair with a class. */
static uint64_t *row(const struct bits *b, size_t i)
{
    return b->words + i * b->width;
}

static void bits_init(struct bits *b, size_t n)
{
    b->width = (n + 63) / 64;
    b->words = xcalloc(n * b->width + 1, sizeof(*b->words));
}

static void bits_set(const struct bits *b, size_t i, size_t k)
{
    row(b, i)[k / 64] |= UINT64_C(1) << k % 64;
}

static bool in_parallel(const struct company *a, const struct company *b)
{
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned k = 0; k < b->count; k++)
            if (a->beside[i] >> b->thread[k] & 1 && b->beside[k] >> a->thread[i] & 1)
                return true;
    return false;
}

static bool may_race(const struct part *a, const struct part *b)
{
    return (a->write || b->write) && !(a->atomic && b->atomic);
}

/* A location as some part accesses it. Uses of one object that differ only in the part are of one
 * kind; what a kind meets is computed once. */
struct use {
    uint32_t object, part, location;
    uint64_t how; /* bytes, write, atomic */
};

static int compare_uses(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->location != y->location)
        return x->location < y->location ? -1 : 1;
    return x->how < y->how ? -1 : x->how > y->how;
}

static bool same_kind(const struct use *a, const struct use *b)
{
    return a->location == b->location && a->how == b->how;
}

static void meet_kind(struct finder *w, const struct use *u, size_t n, size_t kind, uint64_t *met)
{
    const struct location *at = w->s->locations;
    const struct part *p = &w->parts[u[kind].part];
    bool meets = false;

    memset(met, 0, w->met.width * sizeof(*met));
    for (size_t i = 0; i < n; i++) {
        const struct part *q = &w->parts[u[i].part];

        if (i == 0 || !same_kind(&u[i], &u[i - 1]))
            meets = may_race(p, q) &&
                    locations_meet(&at[u[kind].location], p->bytes, &at[u[i].location], q->bytes);
        if (meets)
            met[u[i].part / 64] |= UINT64_C(1) << u[i].part % 64;
    }
}

static void meet_in_object(struct finder *w, const struct use *u, size_t n, uint64_t *met)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t *to = row(&w->met, u[i].part);

        if (i == 0 || !same_kind(&u[i], &u[i - 1]))
            meet_kind(w, u, n, i, met);
        for (size_t k = 0; k < w->met.width; k++)
            to[k] |= met[k];
    }
}

static void meet_objects(struct finder *w)
{
    struct use *uses = NULL;
    size_t n = 0, cap = 0;
    uint64_t *met = xcalloc(w->met.width + 1, sizeof(*met));

    for (uint32_t i = 0; i < w->nparts; i++) {
        const struct part *p = &w->parts[i];
        uint64_t how = p->bytes << 2 | p->write << 1 | p->atomic;

        SET_EACH(&p->set, l)
        {
            GROW(uses, cap, n + 1);
            uses[n++] = (struct use){ w->s->locations[l].object, i, (uint32_t)l, how };
        }
    }
    if (n)
        qsort(uses, n, sizeof(*uses), compare_uses);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && uses[to].object == uses[from].object; to++)
            ;
        meet_in_object(w, uses + from, to - from, met);
    }
    free(uses);
    free(met);
}

static void meet_anything(struct finder *w)
{
    for (uint32_t i = 0; i < w->nparts; i++)
        for (uint32_t k = 0; w->parts[i].any && k < w->nparts; k++)
            if ((w->parts[k].any || w->parts[k].escaped) && may_race(&w->parts[i], &w->parts[k])) {
                bits_set(&w->met, i, k);
                bits_set(&w->met, k, i);
            }
}

/* Which companies may run at the same time. */
static bool *parallel_table(const struct finder *w)
{
    size_t n = w->ncompanies;
    bool *table = xcalloc(n * n + 1, sizeof(*table));

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            table[i * n + k] = in_parallel(&w->companies[i], &w->companies[k]);
    return table;
}

static void pair_part(struct finder *w, const bool *parallel, uint32_t class_, uint32_t part)
{
    const struct site_class *x = &w->classes[class_];

    for (size_t i = 0; i < w->parts[part].nclasses; i++) {
        uint32_t other = w->parts[part].classes[i];
        const struct site_class *y = &w->classes[other];

        if (parallel[x->company * w->ncompanies + y->company] &&
            !(w->lockset && x->locks & y->locks))
            bits_set(&w->paired, class_, other);
    }
}

static void pair_classes(struct finder *w)
{
    bool *parallel = parallel_table(w);

    for (uint32_t c = 0; c < w->nclasses; c++)
        for (unsigned i = 0; i < w->classes[c].nparts; i++) {
            const uint64_t *met = row(&w->met, w->classes[c].parts[i]);

            for (size_t k = 0; k < w->met.width; k++)
                for (uint64_t b = met[k]; b; b &= b - 1)
                    pair_part(w, parallel, c, (uint32_t)(k * 64) + (unsigned)__builtin_ctzll(b));
        }
    free(parallel);
}

/* ---- the result ---- */

static void number_class(struct finder *w, uint32_t c)
{
    if (!w->classes[c].number)
        w->classes[c].number = ++w->out->ngroups;
}

static bool is_hidden(const struct finder *w, const struct site_class *c)
{
    for (unsigned i = 0; i < c->nparts; i++)
        if (w->parts[c->parts[i]].hidden)
            return true;
    return false;
}

static void add_pairs(struct finder *w)
{
    struct pairs *out = w->out;

    for (uint32_t a = 0; a < w->nclasses; a++)
        for (uint32_t b = a; b < w->nclasses; b++) {
            if (!(row(&w->paired, a)[b / 64] >> b % 64 & 1))
                continue;
            number_class(w, a);
            number_class(w, b);
            GROW(out->pairs, out->pairs_cap, out->npairs + 1);
            out->pairs[out->npairs++] =
                (struct pairs_groups){ w->classes[a].number - 1, w->classes[b].number - 1 };
        }
    for (size_t i = 0; i < w->nsites; i++) {
        uint32_t number = w->classes[w->sites[i].class_].number;

        if (!number)
            continue;
        GROW(out->sites, out->sites_cap, out->nsites + 1);
        out->sites[out->nsites] = (struct pairs_site){ w->sites[i].id, number - 1 };
        if (is_hidden(w, &w->classes[w->sites[i].class_]))
            out->sites[out->nsites].id.flags |= PAIRS_HIDDEN;
        w->s->counters.hidden += out->sites[out->nsites++].id.flags & PAIRS_HIDDEN ? 1 : 0;
    }
}

static void add_images(const struct statics *s, struct pairs *out)
{
    for (size_t i = 0; i < s->linked->count; i++) {
        const struct linked_file *f = &s->linked->files[i];

        GROW(out->images, out->images_cap, out->nimages + 1);
        out->images[out->nimages++] =
            (struct pairs_image){ xstrndup(f->path, strlen(f->path)),
                                  xstrndup(f->build_id, strlen(f->build_id)) };
    }
}

static void finder_release(struct finder *w)
{
    for (size_t i = 0; i < w->nparts; i++) {
        set_release(&w->parts[i].set);
        free(w->parts[i].classes);
    }
    free(w->parts);
    free(w->companies);
    free(w->classes);
    free(w->sites);
    map_release(&w->fact_of);
    map_release(&w->part_of);
    map_release(&w->class_of);
    free(w->met.words);
    free(w->paired.words);
}

void statics_pairs(struct statics *s, const struct statics_options *options, struct pairs *out)
{
    struct finder w = { .s = s, .lockset = options->lockset, .out = out };
    struct statics_counters *c = &s->counters;

    c->accesses = c->unplaced = c->unreached = c->private_ = c->sequential = c->hidden = 0;
    if (options->lockset && !s->locks)
        locks_find(s);
    index_facts(&w);
    list_sites(&w);
    bits_init(&w.met, w.nparts);
    bits_init(&w.paired, w.nclasses);
    meet_objects(&w);
    meet_anything(&w);
    pair_classes(&w);
    out->lockset = options->lockset;
    add_images(s, out);
    add_pairs(&w);
    pairs_index(out);
    c->sites = out->nsites;
    c->classes = out->ngroups;
    c->pairs = pairs_count(out);
    finder_release(&w);
}

/* ---- life ---- */

struct statics *statics_open(const struct linked *l, struct error *err)
{
    struct statics *s = xcalloc(1, sizeof(*s));

    s->linked = l;
    if (statics_load(s, err) < 0) {
        statics_close(s);
        return NULL;
    }
    statics_build(s);
    nodes_solve(s);
    threads_find(s);
    statics_share(s);
    s->counters.nodes = s->nnodes;
    s->counters.edges = s->nedges;
    s->counters.objects = s->nobjects;
    s->counters.locations = s->nlocations;
    return s;
}

void statics_close(struct statics *s)
{
    if (!s)
        return;
    threads_release(s);
    locks_release(s);
    for (size_t i = 0; i < s->ncalls; i++)
        free(s->calls[i].targets);
    free(s->calls);
    free(s->instances);
    map_release(&s->call_of);
    map_release(&s->bound);
    for (size_t i = 0; i < s->nuntraced; i++)
        free(s->untraced[i]);
    free(s->untraced);
    nodes_release(s);
    statics_unload(s);
    free(s);
}

const struct statics_counters *statics_counters(const struct statics *s)
{
    return &s->counters;
}

const char *statics_untraced(const struct statics *s, size_t i)
{
    return i < s->nuntraced ? s->untraced[i] : NULL;
}
