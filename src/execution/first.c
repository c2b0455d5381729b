/* first.c - what variables hold before anybody writes them */
#include "execution/first.h"
#include "base/alloc.h"
#include "execution/exec_inside.h"

#include <stdlib.h>
#include <string.h>

/* Larger ones are tables, whose first values decide nothing. */
enum { FIRST_BYTES_MAX = 16 << 20, VARIABLE_BYTES_MAX = 1 << 20 };

static int by_address(const void *a, const void *b)
{
    const struct first_variable *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* A variable that nobody else can write. */
static const struct code_data *own_data(struct walk *w, const struct object *o)
{
    const struct code_symbol *s = w->p->api->symbol(o->module->bitcode, o->symbol);
    const struct code_data *d = NULL;

    if (s->function == CODE_NONE && s->own && !s->thread_local_ && !s->constant &&
        s->bytes <= VARIABLE_BYTES_MAX)
        d = w->p->api->data(o->module->bitcode, o->symbol);
    return d && d->count ? d : NULL;
}

/* Puts the addresses into its bytes; false: one is not known. */
static bool relocate(struct walk *w, const struct object *o, const struct code_data *d,
                     uint8_t *bytes)
{
    for (uint32_t i = 0; i < d->naddresses; i++) {
        const struct code_const *c = &d->addresses[i];
        uint64_t at = 0;

        if (c->kind == CONST_ADDRESS && c->width == 64 && d->places[i] + 8 <= d->count)
            at = program_symbol_value(w->p, o->module,
                                      w->p->api->symbol(o->module->bitcode, c->symbol));
        if (!at)
            return false;
        at += c->low;
        memcpy(bytes + d->places[i], &at, sizeof(at));
    }
    return true;
}

/* Variables that the walk met, and those whose addresses they hold. */
struct met {
    struct first_object {
        struct object object;
        uint64_t address;
    } *list;
    size_t count, cap;
    struct map known; /* by address */
};

static void met_add(struct met *m, const struct object *o, uint64_t address)
{
    uint32_t *known = map_put(&m->known, address, 0);

    if (*known)
        return;
    *known = 1;
    GROW(m->list, m->cap, m->count + 1);
    m->list[m->count++] = (struct first_object){ *o, address };
}

static void met_add_addresses(struct met *m, struct walk *w, struct module *module,
                              const struct code_data *d)
{
    for (uint32_t i = 0; i < d->naddresses; i++) {
        struct object o = { module, d->addresses[i].symbol };
        uint64_t at =
            d->addresses[i].kind == CONST_ADDRESS
                ? program_symbol_value(w->p, module, w->p->api->symbol(module->bitcode, o.symbol))
                : 0;

        if (at)
            met_add(m, &o, at);
    }
}

static void list_variables(struct firsts *f, struct walk *w)
{
    struct met met = { 0 };
    size_t total = 0, cap = 0, list_cap = 0;
    u128 at;

    for (size_t i = 0; i < w->object_symbol.nslots; i++) {
        const struct map_slot *slot = &w->object_symbol.slots[i];

        if (slot->used && expr_value(&w->x, (expr)slot->key, &at))
            met_add(&met, &w->objects[slot->value], (uint64_t)at);
    }
    for (size_t i = 0; i < met.count; i++) {
        const struct first_object x = met.list[i];
        const struct code_data *d = own_data(w, &x.object);

        if (!d || total + d->count > FIRST_BYTES_MAX)
            continue;
        met_add_addresses(&met, w, x.object.module, d);
        GROW(f->data, cap, total + d->count);
        memcpy(f->data + total, d->bytes, d->count);
        if (!relocate(w, &x.object, d, f->data + total))
            continue;
        GROW(f->list, list_cap, f->count + 1);
        f->list[f->count++] = (struct first_variable){ x.address, d->count, NULL };
        total += d->count;
    }
    free(met.list);
    map_release(&met.known);
    total = 0; /* the bytes may have moved */
    for (size_t i = 0; i < f->count; total += f->list[i++].bytes)
        f->list[i].data = f->data + total;
    if (f->count > 1)
        qsort(f->list, f->count, sizeof(*f->list), by_address);
}

/* The last variable that begins at the address or before it. */
static struct first_variable *first_find(const struct firsts *f, uint64_t address)
{
    size_t low = 0, high = f->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (f->list[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &f->list[low - 1] : NULL;
}

/* A byte of an access. False: it was read before anybody wrote it, and was something else. */
static bool take_byte(const struct firsts *f, uint8_t *written, const struct event *ev, unsigned i)
{
    const struct first_variable *v = first_find(f, ev->target + i);
    uint64_t at = v ? ev->target + i - v->address : 0, value = ev->value;
    bool tells = ev->flags & EV_VALUE && ev->size <= 8;

    if (!v || at >= v->bytes)
        return true;
    if (op_table[ev->op].writes)
        written[v->data - f->data + at] = 1;
    else if (tells && !written[v->data - f->data + at])
        return (uint8_t)(value >> 8 * i) == v->data[at];
    return true;
}

/* Variables that were not what their initialiser says. (Plain accesses may stand in another order
 * than they happened: that leaves out too much, never too little.) */
static void drop_denied(struct firsts *f, const struct trace_mem *trace, uint8_t *written)
{
    for (size_t i = 0; i < trace->count && f->count; i++) {
        const struct event *ev = &trace->events[i];
        const struct first_variable *last =
            op_is_access(ev->op) ? first_find(f, ev->target + ev->size - 1) : NULL;

        if (!last || ev->target >= last->address + last->bytes)
            continue;
        for (unsigned k = 0; k < ev->size && k < VARIABLE_BYTES_MAX; k++)
            if (!take_byte(f, written, ev, k))
                first_find(f, ev->target + k)->bytes = 0;
    }
}

void firsts_list(struct firsts *f, struct walk *w, const struct trace_mem *trace)
{
    uint8_t *written;
    size_t total = 0;

    *f = (struct firsts){ 0 };
    /* A process that began as a copy of another one was lost at its first event, at the latest. */
    if (walk_stats(w)->losses || walk_stats(w)->forked)
        return;
    list_variables(f, w);
    for (size_t i = 0; i < f->count; i++)
        total += f->list[i].bytes;
    written = xcalloc(total + 1, 1);
    drop_denied(f, trace, written);
    free(written);
}

void firsts_release(struct firsts *f)
{
    free(f->list);
    free(f->data);
    *f = (struct firsts){ 0 };
}

bool firsts_value(const struct firsts *f, uint64_t address, uint64_t bytes, uint64_t *value)
{
    const struct first_variable *v = first_find(f, address);

    if (!v || bytes > 8 || address + bytes > v->address + v->bytes)
        return false;
    *value = 0;
    memcpy(value, v->data + (address - v->address), bytes);
    return true;
}
