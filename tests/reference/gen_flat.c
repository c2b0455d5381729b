/* gen_flat.c - random traces of any length without any structure */
#include "gen_flat.h"
#include "base/alloc.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 2, FREE = UINT32_MAX };

struct flat {
    const struct gen_flat_options *o;
    struct gen_trace *out;
    struct rng rng;
    size_t cap;
    uint32_t *owner;         /* lock -> thread, FREE */
    uint64_t *memory;        /* variable -> value */
    uint32_t (*held)[DEPTH]; /* by thread */
    uint32_t *depth;
};

void gen_flat_defaults(struct gen_flat_options *o)
{
    *o = (struct gen_flat_options){ .seed = 1,
                                    .events = 1000,
                                    .threads = 8,
                                    .locks = 20,
                                    .variables = 100,
                                    .lock_percent = 30,
                                    .write_percent = 40,
                                    .burst = 80 };
}

static struct event *add(struct flat *f, uint32_t thread, enum op op, uint64_t target)
{
    struct trace_mem *m = &f->out->mem;

    GROW(m->events, f->cap, m->count + 1);
    m->events[m->count] = (struct event){
        .target = target, .thread = thread, .site = (uint32_t)m->count, .op = (uint8_t)op
    };
    return &m->events[m->count++];
}

static void add_access(struct flat *f, uint32_t thread)
{
    uint32_t x = rng_below(&f->rng, f->o->variables);
    bool writes = rng_percent(&f->rng, f->o->write_percent);
    struct event *e = add(f, thread, writes ? OP_WRITE : OP_READ, NAMED_ADDRESS(x));

    e->size = 8;
    if (!f->o->values)
        return;
    if (writes)
        f->memory[x] = rng_below(&f->rng, f->o->values);
    e->value = f->memory[x];
    e->flags = EV_VALUE;
}

static void release(struct flat *f, uint32_t thread)
{
    uint32_t lock = f->held[thread][--f->depth[thread]];

    f->owner[lock] = FREE;
    add(f, thread, OP_RELEASE, NAMED_OBJECT(lock));
}

/* As many acquires as releases; a lock that is not free is left for another time. */
static void lock_or_unlock(struct flat *f, uint32_t thread)
{
    uint32_t lock = rng_below(&f->rng, f->o->locks), depth = f->depth[thread];

    if (depth && (depth == DEPTH || rng_percent(&f->rng, 60))) {
        release(f, thread);
    } else if (f->owner[lock] == FREE) {
        f->owner[lock] = thread;
        f->held[thread][f->depth[thread]++] = lock;
        add(f, thread, OP_ACQUIRE, NAMED_OBJECT(lock));
    }
}

static void step(struct flat *f, uint32_t thread)
{
    if (rng_percent(&f->rng, f->o->lock_percent))
        lock_or_unlock(f, thread);
    else if (rng_percent(&f->rng, f->o->branch_percent))
        add(f, thread, OP_BRANCH, 0);
    else
        add_access(f, thread);
}

static void name_all(const struct flat *f)
{
    struct tables *t = &f->out->tables;
    char name[24];

    for (uint32_t i = 0; i < f->o->threads; i++)
        intern_put(&t->threads, name, (size_t)sprintf(name, "T%u", i));
    for (uint32_t i = 0; i < f->o->variables; i++)
        intern_put(&t->variables, name, (size_t)sprintf(name, "V%u", i));
    for (uint32_t i = 0; i < f->o->locks; i++)
        intern_put(&t->objects, name, (size_t)sprintf(name, "L%u", i));
    for (size_t i = 0; i < f->out->mem.count; i++)
        intern_put(&t->sites, name, (size_t)sprintf(name, "%zu", i));
}

static void run(struct flat *f)
{
    uint32_t thread = 0;

    for (uint32_t t = 1; t < f->o->threads; t++)
        add(f, 0, OP_FORK, t);
    while (f->out->mem.count < f->o->events) {
        if (!rng_percent(&f->rng, f->o->burst))
            thread = rng_below(&f->rng, f->o->threads);
        step(f, thread);
    }
    for (uint32_t t = 0; t < f->o->threads; t++)
        while (f->depth[t])
            release(f, t);
}

void gen_flat(const struct gen_flat_options *o, struct gen_trace *out)
{
    struct flat f = { .o = o, .out = out };

    memset(out, 0, sizeof(*out));
    rng_init(&f.rng, o->seed);
    f.owner = xmalloc((size_t)o->locks * sizeof(*f.owner));
    memset(f.owner, 0xff, (size_t)o->locks * sizeof(*f.owner));
    f.memory = xcalloc(o->variables, sizeof(*f.memory));
    f.held = xcalloc(o->threads, sizeof(*f.held));
    f.depth = xcalloc(o->threads, sizeof(*f.depth));
    run(&f);
    name_all(&f);
    out->info = (struct trace_info){ .format = "gen",
                                     .events = out->mem.count,
                                     .order = TRACE_EXACT,
                                     .values = o->values > 0,
                                     .branches = o->branch_percent > 0 };
    free(f.owner);
    free(f.memory);
    free(f.held);
    free(f.depth);
}
