/* flip.c - what a thread would do if a branch went the other way; see flip.h
 *
 * The walker's own code executes the copy: it waits for an event where the program would
 * make one, and here that event is made up: its address is the value of the address
 * expression, its value what memory holds in the order of the trace. Whatever depends on
 * such a guess is a condition.
 *
 * Which branches: outcomes that no thread took first, then those that this thread did not
 * take, then all others; of each (branch, outcome, thread) the first instance, the last and
 * some in between, so that a loop of a million turns costs as much as one of ten.
 *
 * Up to the join point decisions that depend on reads go both ways (FLIP_PATHS_MAX); behind
 * it, where the paper stops, the path goes on as the guesses say.
 */
#include "program/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Instances of one outcome of one branch in one thread. */
enum { INSTANCES_NEVER = 8, INSTANCES_HERE_NEVER = 4, INSTANCES_OTHER = 2, DECIDED_MAX = 3 };

const char *const flip_end_names[FLIP_ENDS] = { "limit", "call",    "address",
                                                "value", "returns", "foreign" };

/* ---- life ---- */

struct flips *flips_new(struct program *p, struct tables *tables, const struct trace_mem *trace)
{
    struct flips *all = xcalloc(1, sizeof(*all));

    all->program = p;
    all->tables = tables;
    all->trace = trace;
    for (uint32_t i = 0; i < tables->sites.count; i++) {
        struct site_origin o = tables_site_origin(tables, i);

        if (o.module)
            map_put(&all->site_of, (uint64_t)(o.module - 1) << 32 | o.index, i);
    }
    return all;
}

static void path_release(struct flip_path *p)
{
    free(p->events);
    free(p->conditions);
}

static void forget_walk(struct flips *all)
{
    map_release(&all->words);
    all->nshadow = 0;
    for (size_t i = 0; i < all->nheld; i++)
        free(all->held[i].list);
    free(all->held);
    all->held = NULL;
    all->nheld = 0;
    for (size_t i = 0; i < all->ncounts; i++)
        all->counts[i].met = 0;
    for (size_t i = 0; i < all->npaths; i++)
        path_release(&all->paths[i]);
    all->npaths = 0;
}

void flips_free(struct flips *all)
{
    if (!all)
        return;
    forget_walk(all);
    free(all->shadow);
    free(all->counts);
    free(all->paths);
    free(all->written);
    map_release(&all->written_at);
    map_release(&all->site_of);
    map_release(&all->counted);
    free(all);
}

void flips_begin(struct flips *all, enum flip_pass pass, struct sharing *sharing)
{
    forget_walk(all);
    all->pass = pass;
    all->sharing = sharing;
    all->next_id = all->trace->count;
    all->next_heap = FLIP_HEAP;
    all->stats = (struct flip_stats){ 0 };
}

size_t flips_count(const struct flips *all)
{
    return all->npaths;
}

const struct flip_path *flips_get(const struct flips *all, size_t i)
{
    return &all->paths[i];
}

const struct flip_stats *flips_stats(const struct flips *all)
{
    return &all->stats;
}

/* ---- memory in the order of the trace ---- */

struct shadow {
    struct map *words;
    struct shadow_word **list;
    size_t *count, *cap;
};

static void shadow_set(struct shadow s, uint64_t at, unsigned bytes, bool known, uint64_t value,
                       bool writes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint32_t *n = map_put(s.words, (at + i) / 8, 0);
        unsigned byte = (at + i) % 8;
        struct shadow_word *w;

        if (!*n) {
            GROW(*s.list, *s.cap, *s.count + 1);
            (*s.list)[*s.count] = (struct shadow_word){ 0 };
            *n = (uint32_t)++*s.count;
        }
        w = &(*s.list)[*n - 1];
        if (!writes && w->written >> byte & 1)
            continue;
        w->written |= (uint8_t)((unsigned)writes << byte);
        w->value &= ~(UINT64_C(255) << 8 * byte);
        w->value |= (value >> 8 * (i % 8) & 255) << 8 * byte;
        w->known = (uint8_t)(known ? w->known | 1u << byte : w->known & ~(1u << byte));
    }
}

static void shadow_event(struct flips *all, const struct event *ev)
{
    enum { FORGET_MAX = 4096 };
    struct shadow s = { &all->words, &all->shadow, &all->nshadow, &all->shadow_cap };
    bool writes = op_table[ev->op].writes;

    if (ev->op == OP_ALLOC || ev->op == OP_FREE)
        shadow_set(s, ev->target, ev->value < FORGET_MAX ? (unsigned)ev->value : FORGET_MAX, false,
                   0, true);
    else if (op_is_access(ev->op) && ev->size <= 8 && ev->flags & EV_VALUE)
        shadow_set(s, ev->target, ev->size, true, ev->value, writes);
    else if (op_is_access(ev->op) && writes)
        shadow_set(s, ev->target, ev->size < FORGET_MAX ? ev->size : FORGET_MAX, false, 0, true);
}

static bool peek_byte(const struct map *words, const struct shadow_word *list, uint64_t at,
                      bool *known, uint8_t *value)
{
    const uint32_t *n = map_get(words, at / 8);

    if (!n || !*n)
        return false;
    *known = list[*n - 1].known >> at % 8 & 1;
    *value = (uint8_t)(list[*n - 1].value >> 8 * (at % 8));
    return true;
}

bool flip_peek(const struct flip *f, uint64_t at, unsigned bytes, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < bytes && i < 8; i++) {
        bool known = false;
        uint8_t v = 0;

        if (!peek_byte(&f->words, f->shadow, at + i, &known, &v))
            peek_byte(&f->all->words, f->all->shadow, at + i, &known, &v);
        if (!known)
            return false;
        *value |= (uint64_t)v << 8 * i;
    }
    return bytes <= 8;
}

void flip_poke(struct flip *f, uint64_t at, unsigned bytes, bool known, uint64_t value)
{
    shadow_set((struct shadow){ &f->words, &f->shadow, &f->nshadow, &f->shadow_cap }, at, bytes,
               known, value, true);
}

/* ---- locks ---- */

static struct held *held_of(struct flips *all, uint32_t thread)
{
    GROW(all->held, all->nheld, thread + (size_t)1);
    return &all->held[thread];
}

static void held_add(struct held *h, uint64_t lock, bool shared)
{
    GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = (struct held_lock){ lock, shared };
}

static bool held_remove(struct held *h, uint64_t lock)
{
    for (size_t i = h->count; i-- > 0;)
        if (h->list[i].lock == lock) {
            h->list[i] = h->list[--h->count];
            return true;
        }
    return false;
}

void flips_event(struct flips *all, const struct event *ev)
{
    struct held *h = held_of(all, ev->thread);

    if (ev->flags & EV_IGNORED)
        return;
    shadow_event(all, ev);
    if (all->pass == FLIP_LEARN)
        written_add(all, ev);
    if (ev->flags & EV_NESTED)
        return;
    if (ev->op == OP_ACQUIRE || ev->op == OP_ACQUIRE_SHARED)
        held_add(h, ev->target, ev->op == OP_ACQUIRE_SHARED);
    else if (ev->op == OP_RELEASE || ev->op == OP_RELEASE_SHARED)
        held_remove(h, ev->target);
}

bool flip_lock(struct flip *f, uint64_t lock, bool shared)
{
    for (size_t i = 0; i < f->held.count; i++)
        if (f->held.list[i].lock == lock)
            return false; /* it would wait for itself, or the lock is recursive */
    held_add(&f->held, lock, shared);
    return true;
}

bool flip_unlock(struct flip *f, uint64_t lock, bool *shared)
{
    for (size_t i = 0; i < f->held.count; i++)
        if (f->held.list[i].lock == lock) {
            *shared = f->held.list[i].shared;
            return held_remove(&f->held, lock);
        }
    return false;
}

/* ---- copies of state ---- */

static void copy_map(struct map *to, const struct map *from)
{
    *to = *from;
    if (from->slots) {
        to->slots = xmalloc(from->nslots * sizeof(*to->slots));
        memcpy(to->slots, from->slots, from->nslots * sizeof(*to->slots));
    }
}

static void *copy_array(const void *from, size_t count, size_t bytes)
{
    void *to = xcalloc(count + 1, bytes);

    if (count)
        memcpy(to, from, count * bytes);
    return to;
}

static struct thread *copy_thread(const struct thread *t)
{
    struct thread *c = xmalloc(sizeof(*c));

    *c = *t;
    c->frames = copy_array(t->frames, t->depth, sizeof(*t->frames));
    c->frames_cap = t->depth + 1;
    c->slots = copy_array(t->slots, t->nslots, sizeof(*t->slots));
    c->slots_cap = t->nslots + 1;
    c->stack.node = copy_array(t->stack.node, t->stack.top, sizeof(*t->stack.node));
    c->stack.part = copy_array(t->stack.part, t->stack.top, sizeof(*t->stack.part));
    c->stack.node_cap = c->stack.part_cap = t->stack.top + 1;
    copy_map(&c->tls, &t->tls);
    copy_map(&c->locals, &t->locals);
    return c;
}

static void free_thread(struct thread *t)
{
    free(t->frames);
    free(t->slots);
    private_stack_release(&t->stack);
    map_release(&t->tls);
    map_release(&t->locals);
    free(t);
}

static struct flip *flip_copy(const struct flip *from)
{
    struct flip *f = xmalloc(sizeof(*f));

    *f = *from;
    f->t = copy_thread(from->t);
    f->memory.cells = copy_array(from->memory.cells, from->memory.ncells, sizeof(*f->memory.cells));
    if (!from->memory.ncells) {
        free(f->memory.cells);
        f->memory.cells = NULL;
    }
    f->held.list = copy_array(from->held.list, from->held.count, sizeof(*f->held.list));
    f->held.cap = from->held.count + 1;
    copy_map(&f->words, &from->words);
    f->shadow = copy_array(from->shadow, from->nshadow, sizeof(*f->shadow));
    f->shadow_cap = from->nshadow + 1;
    f->path.events = copy_array(from->path.events, from->path.nevents, sizeof(*f->path.events));
    f->events_cap = from->path.nevents + 1;
    f->path.conditions =
        copy_array(from->path.conditions, from->path.nconditions, sizeof(*f->path.conditions));
    f->conditions_cap = from->path.nconditions + 1;
    copy_map(&f->decided, &from->decided);
    return f;
}

static void flip_free(struct flip *f)
{
    free_thread(f->t);
    memory_release(&f->memory);
    free(f->held.list);
    map_release(&f->words);
    free(f->shadow);
    map_release(&f->decided);
    path_release(&f->path);
    free(f);
}

/* ---- what a path consists of ---- */

void flip_stop(struct flip *f, enum flip_end end)
{
    if (!f->ended)
        f->path.end = (uint8_t)end;
    f->ended = true;
}

struct flip_event *flip_add(struct flip *f, const struct event *ev)
{
    struct flip_path *p = &f->path;

    if (p->nevents >= FLIP_EVENTS_MAX) {
        flip_stop(f, FLIP_LIMIT);
        return NULL;
    }
    GROW(p->events, f->events_cap, p->nevents + 1);
    p->events[p->nevents] =
        (struct flip_event){ .event = *ev, .id = f->all->next_id++, .kind = STEP_OTHER };
    p->events[p->nevents].event.thread = f->t->number;
    f->started = f->w->stats.instructions;
    return &p->events[p->nevents++];
}

void flip_condition(struct flip *f, enum condition_kind kind, expr value, u128 recorded)
{
    struct flip_path *p = &f->path;
    bool now = f->now && kind != CONDITION_BRANCH;
    const struct frame *fr = &f->t->frames[f->t->depth - 1];

    if (now && kind == CONDITION_FIXED && fr->f->code->insts[fr->pc].op == I_CAS)
        now = false; /* success depends on what it reads */
    GROW(p->conditions, f->conditions_cap, p->nconditions + 1);
    p->conditions[p->nconditions++] =
        (struct flip_condition){ .recorded = recorded,
                                 .value = value,
                                 .event = (uint32_t)(now ? p->nevents - 1 : p->nevents),
                                 .kind = (uint8_t)kind };
}

/* A read of memory that nobody has written: only this path has it. */
static bool reads_heap(const struct flip *f, const struct expr_node *n)
{
    uint64_t id = n->a | (uint64_t)n->b << 32;

    for (size_t i = f->path.nevents; id >= f->all->trace->count && i-- > 0;)
        if (f->path.events[i].id == id)
            return IS_FLIP_HEAP(f->path.events[i].event.target);
    return false;
}

/* Depth first, each node once. */
bool flip_is_followed(struct flip *f, expr e)
{
    struct exprs *x = &f->w->x;
    struct map seen = { 0 };
    expr stack[FLIP_CONE_MAX];
    size_t depth = 0, count = 0;
    bool good = true;

    stack[depth++] = e;
    f->made_up = false;
    while (depth && good) {
        const struct expr_node *n = expr_get(x, e = stack[--depth]);
        uint32_t *known = map_put(&seen, e, 0);
        u128 v;

        if (*known)
            continue;
        *known = 1;
        good = ++count < FLIP_CONE_MAX - 3 && !(n->op == EX_READ && reads_heap(f, n));
        if (n->op == EX_UNKNOWN || n->op == EX_ADDRESS || n->op == EX_RESULT || n->op == EX_OPAQUE)
            good &= expr_value(x, e, &v);
        if (n->op == EX_ADDRESS && good)
            f->made_up |= IS_FLIP_HEAP((uint64_t)v);
        else if (n->op >= EX_ADD && depth + 3 >= FLIP_CONE_MAX)
            good = false;
        else if (n->op >= EX_ADD) {
            stack[depth++] = n->a;
            if (n->op != EX_ZEXT && n->op != EX_SEXT && n->op != EX_EXTRACT)
                stack[depth++] = n->b;
            if (n->op == EX_ITE)
                stack[depth++] = n->c;
        }
    }
    map_release(&seen);
    return good;
}

/* ---- steps of the copy ---- */

static expr taken_expr(struct exprs *x, const struct step *s)
{
    expr any = 0;

    if (!s->cases)
        return s->value;
    if (s->outcome)
        return expr_binary(x, EX_EQ, s->value, s->cases[s->outcome - 1]);
    for (size_t i = 0; i < s->ncases; i++) {
        expr same = expr_binary(x, EX_EQ, s->value, s->cases[i]);
        any = any ? expr_binary(x, EX_OR, any, same) : same;
    }
    return any;
}

static void take_fixed(struct flip *f, expr e)
{
    u128 v, now;

    /* (The walk goes on with the recorded value.) */
    if (!expr_value(&f->w->x, e, &v) || !flip_value(f, e, &now) || now != v ||
        !flip_is_followed(f, e))
        flip_stop(f, FLIP_VALUE);
    else
        flip_condition(f, CONDITION_FIXED, e, v);
}

static void take_branch(struct flip *f, const struct step *s)
{
    expr e = taken_expr(&f->w->x, s);

    f->now = NULL;
    if (e && expr_varies(&f->w->x, e))
        flip_condition(f, CONDITION_BRANCH, e, s->cases ? s->outcome != 0 : s->outcome);
}

/* What a write writes, for reads behind it in this path. */
static void take_write(struct flip *f, struct flip_event *ev)
{
    struct exprs *x = &f->w->x;
    u128 v = 0;
    bool known;

    if (ev->value && expr_get(x, ev->value)->width != 8 * ev->event.size)
        ev->value = expr_get(x, ev->value)->width > 8 * (ev->event.size - 1) && ev->event.size <= 16
                        ? expr_resize(x, 8 * ev->event.size, ev->value)
                        : 0;
    known = ev->value && expr_value(x, ev->value, &v);
    flip_poke(f, ev->event.target, ev->event.size, known && ev->event.size <= 8, (uint64_t)v);
    /* (What a write without a guess writes could not be compared with what others read.) */
    if (known && ev->event.size <= 8) {
        ev->event.value = (uint64_t)v;
        ev->event.flags |= EV_VALUE;
    }
    if (IS_FLIP_HEAP(ev->event.target))
        return;
    if (!known || !flip_is_followed(f, ev->value))
        flip_stop(f, FLIP_VALUE);
    else if (sharing_is_others(f->all->sharing, ev->event.target, ev->event.size, f->t->number))
        flip_stop(f, FLIP_FOREIGN);
}

static void take_step(void *arg, const struct step *s)
{
    struct flip *f = arg;
    struct flip_event *ev = f->now;
    u128 v;

    if (s->kind == STEP_FIXED) {
        take_fixed(f, s->value);
        return;
    }
    if (!ev)
        return;
    ev->kind = (uint8_t)s->kind;
    ev->address = s->address;
    ev->value = s->value;
    ev->old = s->old;
    if (s->kind == STEP_BRANCH)
        take_branch(f, s);
    if (s->kind <= STEP_UPDATE && s->address && expr_varies(&f->w->x, s->address)) {
        if (flip_value(f, s->address, &v))
            flip_condition(f, CONDITION_ADDRESS, s->address, v);
        else
            flip_stop(f, FLIP_ADDRESS);
    }
    f->now = NULL;
    if (s->kind == STEP_WRITE || s->kind == STEP_UPDATE)
        take_write(f, ev);
}

static bool is_private(void *arg, uint64_t address, uint32_t bytes)
{
    struct flip *f = arg;

    return IS_FLIP_HEAP(address) || sharing_is_own(f->all->sharing, address, bytes, f->t->number);
}

bool flip_feed(struct flip *f, const struct event *ev, unsigned kinds)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    struct place place = { fr->f->module->number + 1, fr->f->index,
                           fr->f->code->insts[fr->pc].index, 0 };
    struct event copy = *ev;
    struct now n = { &copy, 0, &place, false };
    uint32_t bytes;
    enum go r;

    if (kinds)
        copy.site = flip_site(f->all, fr->f, place.index, kinds, &bytes);
    copy.thread = f->t->number;
    f->now = flip_add(f, &copy);
    if (!f->now)
        return false;
    n.position = f->now->id;
    f->t->idle = 0;
    r = exec(f->w, f->t, fr, &n);
    f->now = NULL;
    if (n.ev || r == GO_OTHER || r == GO_LOST) {
        flip_stop(f, FLIP_VALUE);
        return false;
    }
    return true;
}

uint64_t flip_allocate(struct flips *all, uint64_t bytes)
{
    uint64_t at = all->next_heap;

    all->next_heap += (bytes + 127) / 64 * 64;
    return at;
}

uint64_t flip_local(struct flip *f, uint64_t bytes)
{
    return flip_allocate(f->all, bytes);
}

void flip_went(struct flip *f, const struct thread *t, uint32_t block)
{
    f->joined |= t->depth == f->base && block == f->join;
}

/* ---- accesses ---- */

static uint8_t order_of(int64_t llvm)
{
    static const uint8_t orders[] = { ORDER_NONE,    ORDER_RELAXED, ORDER_RELAXED, ORDER_ACQUIRE,
                                      ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL, ORDER_SEQ_CST };

    return llvm >= 0 && (size_t)llvm < sizeof(orders) ? orders[llvm] : ORDER_SEQ_CST;
}

/* The number an address is taken to be. */
static bool target_of(struct flip *f, expr address, uint64_t *at)
{
    u128 v, recorded;
    uint64_t private_;

    if (!flip_value(f, address, &v) || v < 4096 || v >= ADDRESS_LIMIT ||
        !flip_is_followed(f, address) || (f->made_up && !IS_FLIP_HEAP((uint64_t)v)) ||
        ((!expr_value(&f->w->x, address, &recorded) || recorded != v) &&
         private_place(f->w, f->t, address, &private_))) {
        flip_stop(f, FLIP_ADDRESS);
        return false;
    }
    *at = (uint64_t)v;
    return true;
}

/* A read's guess: what is there in the order of the trace. */
static void guess(const struct flip *f, struct event *ev, bool old)
{
    uint64_t value;

    if (!flip_peek(f, ev->target, ev->size, &value))
        return;
    if (old) {
        ev->old = value;
        ev->flags |= EV_OLD;
    } else {
        ev->value = value;
        ev->flags |= EV_VALUE;
    }
}

static expr operand(struct flip *f, unsigned i)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct code *c = fr->f->code;

    return operand_value(f->w, f->t, fr, c->operands[c->insts[fr->pc].operand + i]);
}

static void await_access(struct flip *f, const struct frame *fr, const struct inst *inst)
{
    bool atomic = fr->f->expects[fr->pc] & EXPECTS(SITE_ATOMIC), reads = inst->op == I_LOAD;
    unsigned kinds = atomic  ? EXPECTS(SITE_ATOMIC)
                     : reads ? EXPECTS(SITE_READ)
                             : EXPECTS(SITE_WRITE);
    struct event ev = { .op = (uint8_t)(atomic  ? reads ? OP_LOAD : OP_STORE
                                        : reads ? OP_READ
                                                : OP_WRITE) };

    if (atomic)
        ev.order = order_of(inst->sub);
    flip_site(f->all, fr->f, inst->index, kinds, &ev.size);
    if (!ev.size)
        flip_stop(f, FLIP_ADDRESS);
    if (!target_of(f, operand(f, 0), &ev.target) || f->ended)
        return;
    if (reads)
        guess(f, &ev, false);
    flip_feed(f, &ev, kinds);
}

/* Of a compare-exchange only the way that the guess says. */
static void await_update(struct flip *f, const struct frame *fr, const struct inst *inst)
{
    struct event ev = { .op = OP_RMW, .order = order_of(fr->f->code->extras[inst->extra]) };
    u128 expected;

    flip_site(f->all, fr->f, inst->index, EXPECTS(SITE_ATOMIC), &ev.size);
    if (!target_of(f, operand(f, 0), &ev.target))
        return;
    guess(f, &ev, true);
    if (inst->op == I_CAS) {
        if (!(ev.flags & EV_OLD) || !expr_value(&f->w->x, operand(f, 1), &expected)) {
            flip_stop(f, FLIP_VALUE);
            return;
        }
        if (ev.old != (uint64_t)expected) {
            ev.op = OP_LOAD;
            ev.value = ev.old;
            ev.flags = EV_VALUE;
        }
    }
    flip_feed(f, &ev, EXPECTS(SITE_ATOMIC));
}

/* Copies and fills: of what is written only the place is known, so a shared one is the last. */
static void await_range(struct flip *f, const struct frame *fr)
{
    enum { RANGE_MAX = 4096 };
    bool reads = fr->f->expects[fr->pc] & EXPECTS(SITE_READ) && !fr->read_done;
    struct event ev = { .op = reads ? OP_READ : OP_WRITE };
    expr count = operand(f, 2);
    u128 n;

    if (!expr_value(&f->w->x, count, &n) || n == 0 || n > RANGE_MAX ||
        !flip_is_followed(f, count)) {
        flip_stop(f, FLIP_ADDRESS);
        return;
    }
    ev.size = (uint32_t)n;
    if (target_of(f, operand(f, reads ? 1 : 0), &ev.target))
        flip_feed(f, &ev, reads ? EXPECTS(SITE_READ) : EXPECTS(SITE_WRITE));
}

/* ---- decisions ---- */

struct work {
    struct flip *waiting[FLIP_PATHS_MAX];
    uint64_t outcome[FLIP_PATHS_MAX];
    size_t count, paths;
};

static void feed_branch(struct flip *f, uint64_t outcome)
{
    struct event ev = { .op = OP_BRANCH, .value = outcome, .flags = EV_VALUE };

    flip_feed(f, &ev, EXPECTS(SITE_BRANCH));
}

/* The outcome that a value gives. */
static uint64_t outcome_of(struct flip *f, const struct inst *inst, u128 value)
{
    u128 k;

    if (inst->op == I_BRANCH)
        return value != 0;
    for (uint32_t i = 1; i < inst->noperands; i++)
        if (expr_value(&f->w->x, operand(f, i), &k) && k == value)
            return i;
    return 0;
}

/* What the branch or switch at hand looks at, taken to be what leads there. */
static bool assume_outcome(struct flip *f, uint64_t outcome)
{
    const struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct inst *inst = &fr->f->code->insts[fr->pc];
    u128 k = outcome;

    if (inst->op == I_SWITCH && !outcome)
        return true; /* anything else: not looked for */
    if (inst->op == I_SWITCH && !expr_value(&f->w->x, operand(f, (unsigned)outcome), &k))
        return false;
    return flip_assume(f, operand(f, 0), k);
}

static void add_work(struct flip *f, struct work *work, uint64_t outcome)
{
    if (work->paths >= FLIP_PATHS_MAX) {
        f->all->stats.dropped++;
        return;
    }
    work->waiting[work->count] = flip_copy(f);
    if (!assume_outcome(work->waiting[work->count], outcome) && f->joined) {
        flip_free(work->waiting[work->count]);
        return;
    }
    work->paths++;
    work->outcome[work->count++] = outcome;
}

/* That fresh memory is not NULL is all that can be said about its address. */
static bool is_null_test(const struct flip *f, expr e)
{
    const struct exprs *x = &f->w->x;
    const struct expr_node *n = expr_get(x, e);
    const struct expr_node *b = n->op == EX_EQ || n->op == EX_NE ? expr_get(x, n->b) : NULL;

    return b && b->op == EX_CONST && b->value == 0;
}

static void decide(struct flip *f, const struct frame *fr, struct work *work)
{
    const struct inst *inst = &fr->f->code->insts[fr->pc];
    uint64_t outcomes = inst->op == I_BRANCH ? 2 : inst->noperands, chosen = 0;
    expr e = operand(f, 0);
    bool varies = expr_varies(&f->w->x, e), known;
    uint32_t *times =
        map_put(&f->decided,
                (uint64_t)fr->f->module->number << 48 ^ (uint64_t)fr->f->index << 24 ^ fr->pc, 0);
    u128 v;

    known = flip_value(f, e, &v);
    if (!flip_is_followed(f, e) || (f->made_up && !is_null_test(f, e)) || (!varies && !known)) {
        flip_stop(f, FLIP_VALUE);
        return;
    }
    if (known)
        chosen = outcome_of(f, inst, v);
    if (varies && *times >= DECIDED_MAX) { /* loops that depend on reads end */
        flip_stop(f, FLIP_LIMIT);
        return;
    }
    if (varies && !*times)
        for (uint64_t o = 0; o < outcomes; o++)
            if (o != chosen) {
                *times = 1;
                add_work(f, work, o);
            }
    *times += varies;
    feed_branch(f, chosen);
}

/* ---- a path ---- */

static void await(struct flip *f, struct work *work)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct inst *inst = &fr->f->code->insts[fr->pc];
    struct event fence = { .op = OP_FENCE, .order = order_of(inst->sub) };

    switch (inst->op) {
    case I_LOAD:
    case I_STORE:
        await_access(f, fr, inst);
        break;
    case I_RMW:
    case I_CAS:
        await_update(f, fr, inst);
        break;
    case I_FENCE:
        flip_feed(f, &fence, EXPECTS(SITE_ATOMIC));
        break;
    case I_COPY_MEMORY:
    case I_FILL_MEMORY:
        await_range(f, fr);
        break;
    case I_BRANCH:
    case I_SWITCH:
        decide(f, fr, work);
        break;
    case I_CALL:
        flip_call(f);
        break;
    case I_RETURN:
        flip_return(f);
        break;
    default:
        flip_stop(f, FLIP_OVER);
    }
}

static void run(struct flip *f, struct work *work)
{
    struct walk *w = f->w;

    while (!f->ended) {
        struct frame *fr = f->t->depth ? &f->t->frames[f->t->depth - 1] : NULL;
        struct now n = { 0 };
        enum go r;

        if (!fr || !fr->f || fr->lost || fr->phase == PHASE_UNWOUND) {
            flip_stop(f, FLIP_OVER);
            break;
        }
        f->joined |= f->t->depth < f->base;
        if (f->t->depth > f->base + FLIP_CALLS_MAX ||
            w->stats.instructions - f->started > FLIP_INSTRUCTIONS_MAX) {
            flip_stop(f, FLIP_LIMIT);
            break;
        }
        if (!f->joined)
            f->path.joined = (uint32_t)f->path.nevents;
        r = exec(w, f->t, fr, &n);
        if (r == GO_WAIT)
            await(f, work);
        else if (r != GO_ON)
            flip_stop(f, FLIP_VALUE);
    }
}

/* ---- what is kept ---- */

static bool is_new_access(const struct flip_event *e)
{
    return op_is_access(e->event.op) && !IS_FLIP_HEAP(e->event.target) && e->event.size;
}

/* Memory that only the path has needs no events; their conditions go to the next ones. */
static void leave_out_heap(struct flip_path *p)
{
    size_t n = 0, c = 0;

    for (size_t i = 0; i < p->nevents; i++) {
        for (; c < p->nconditions && p->conditions[c].event <= i; c++)
            p->conditions[c].event = (uint32_t)n;
        if (!op_is_access(p->events[i].event.op) || !IS_FLIP_HEAP(p->events[i].event.target))
            p->events[n++] = p->events[i];
    }
    for (; c < p->nconditions; c++)
        p->conditions[c].event = (uint32_t)n;
    p->nevents = n;
}

/* Behind its last access a path says nothing. */
static void trim(struct flip_path *p)
{
    size_t n = p->nevents, k = 0;

    while (n && !is_new_access(&p->events[n - 1]))
        n--;
    p->nevents = n;
    for (size_t i = 0; i < p->nconditions; i++)
        if (p->conditions[i].event < n)
            p->conditions[k++] = p->conditions[i];
    p->nconditions = k;
}

static int by_event(const void *a, const void *b)
{
    const struct flip_condition *p = a, *q = b;

    return p->event < q->event ? -1 : p->event > q->event;
}

static void keep(struct flip *f)
{
    struct flips *all = f->all;
    struct flip_path *p = &f->path;

    all->stats.ends[p->end]++;
    if (p->nconditions > 1)
        qsort(p->conditions, p->nconditions, sizeof(*p->conditions), by_event);
    leave_out_heap(p);
    trim(p);
    if (!p->nevents) {
        all->stats.dropped++;
        return;
    }
    all->stats.paths++;
    all->stats.events += p->nevents;
    for (size_t i = 0; all->pass == FLIP_TOUCH && i < p->nevents; i++)
        if (is_new_access(&p->events[i]))
            sharing_event(all->sharing, &p->events[i].event);
    if (all->pass != FLIP_KEEP)
        return;
    GROW(all->paths, all->paths_cap, all->npaths + 1);
    all->paths[all->npaths++] = *p;
    p->events = NULL;
    p->conditions = NULL;
}

/* ---- one flip ---- */

static struct flip *fork_thread(struct flips *all, struct walk *w, const struct thread *t,
                                uint64_t position, uint64_t outcome)
{
    const struct frame *fr = &t->frames[t->depth - 1];
    const struct held *h = held_of(all, t->number);
    struct flip *f = xcalloc(1, sizeof(*f));

    if (!fr->f->joins)
        fr->f->joins = joins_of(fr->f->code);
    f->all = all;
    f->w = w;
    f->t = copy_thread(t);
    f->base = t->depth;
    f->join = fr->f->joins[fr->block];
    f->held.list = copy_array(h->list, h->count, sizeof(*h->list));
    f->held.count = h->count;
    f->held.cap = h->count + 1;
    f->path.branch = position;
    f->path.thread = t->number;
    f->path.outcome = outcome;
    return f;
}

/* The branch goes there; false: nothing can make it. */
static bool turn(struct flip *f, uint64_t outcome)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    uint32_t ncases = inst->op == I_SWITCH ? inst->noperands - 1 : 0;
    expr *cases = xmalloc((ncases + (size_t)1) * sizeof(*cases));
    struct step s = { .kind = STEP_BRANCH, .value = operand(f, 0), .outcome = outcome };
    bool good;

    for (uint32_t i = 0; i < ncases; i++)
        cases[i] = operand(f, i + 1);
    s.cases = inst->op == I_SWITCH ? cases : NULL;
    s.ncases = ncases;
    assume_outcome(f, outcome);
    take_branch(f, &s);
    good = f->path.nconditions && flip_is_followed(f, f->path.conditions[0].value);
    if (good)
        go_to(f->w, f->t, fr,
              (uint32_t)c->extras[inst->extra + (inst->op == I_BRANCH ? !outcome : outcome)]);
    free(cases);
    return good;
}

static void explore(struct flip *first, uint64_t outcome)
{
    struct work work = { .paths = 1 };
    struct flip *f = first;
    struct walk *w = f->w;
    struct memory saved = w->memory;

    f->memory.below = &saved;
    w->memory = f->memory;
    w->flip = f;
    if (!turn(f, outcome)) {
        flip_stop(f, FLIP_VALUE);
        f->path.nevents = 0;
    }
    for (;;) {
        run(f, &work);
        f->memory = w->memory;
        keep(f);
        flip_free(f);
        if (!work.count)
            break;
        f = work.waiting[--work.count];
        w->memory = f->memory;
        w->flip = f;
        w->options.arg = w->options.private_arg = f;
        feed_branch(f, work.outcome[work.count]);
    }
    w->memory = saved;
    w->flip = NULL;
}

static void flip(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                 uint64_t outcome, bool never, bool here_never)
{
    struct walk_options options = w->options;
    struct walk_stats stats = w->stats;
    struct flip *f = fork_thread(all, w, t, position, outcome);

    f->path.never = never;
    f->path.here_never = here_never;
    w->options = (struct walk_options){ .step = take_step,
                                        .arg = f,
                                        .is_private = is_private,
                                        .private_arg = f,
                                        .keep_all = options.keep_all };
    f->started = w->stats.instructions;
    all->stats.tried++;
    explore(f, outcome);
    w->options = options;
    w->stats = stats;
}

/* ---- which ---- */

static struct outcome_count *count_of(struct flips *all, uint32_t site, uint64_t outcome,
                                      uint32_t thread)
{
    uint64_t key = ((uint64_t)site << 32 | thread) * UINT64_C(0x9e3779b97f4a7c15) + outcome;
    uint32_t *n = map_put(&all->counted, key, 0);

    if (!*n) {
        GROW(all->counts, all->counts_cap, all->ncounts + 1);
        all->counts[all->ncounts] = (struct outcome_count){ 0 };
        *n = (uint32_t)++all->ncounts;
    }
    return &all->counts[*n - 1];
}

/* Of `total` instances `most`, spread: the first, the last, and some between. */
static bool is_chosen(uint64_t i, uint64_t total, uint64_t most)
{
    if (total <= most || i == 0 || i + 1 == total)
        return true;
    return i * (most - 1) / (total - 1) != (i - 1) * (most - 1) / (total - 1);
}

void flips_branch(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                  uint64_t outcome, uint64_t outcomes)
{
    uint32_t site = all->trace->events[position].site;
    uint64_t met, total;

    if (all->pass == FLIP_LEARN) {
        count_of(all, site, outcome, t->number)->total++;
        count_of(all, site, outcome, THREAD_NONE)->total++;
        return;
    }
    met = count_of(all, site, outcome, t->number)->met++;
    total = count_of(all, site, outcome, t->number)->total;
    for (uint64_t o = 0; o < outcomes; o++) {
        bool never = !count_of(all, site, o, THREAD_NONE)->total;
        bool here = !count_of(all, site, o, t->number)->total;

        if (o == outcome)
            continue;
        all->stats.branches++;
        if (is_chosen(met, total,
                      never  ? INSTANCES_NEVER
                      : here ? INSTANCES_HERE_NEVER
                             : INSTANCES_OTHER))
            flip(all, w, t, position, o, never, here);
    }
}

/* ---- three walks ---- */

static void walk_trace(struct program *p, const struct trace_mem *trace, struct flips *all,
                       struct sharing *sharing)
{
    struct walk_options options = { .is_private = sharing_is_private,
                                    .private_arg = sharing,
                                    .flips = all };
    struct walk *w = walk_new(p, &options);

    for (size_t i = 0; i < trace->count; i++)
        walk_event(w, i, &trace->events[i]);
    walk_remember(w);
    walk_free(w);
}

/* Values beside the nodes are there for all who only read. */
static void settle_values(struct flips *all, struct exprs *x)
{
    u128 v;

    for (size_t i = 0; i < all->npaths; i++) {
        const struct flip_path *p = &all->paths[i];

        for (size_t k = 0; k < p->nconditions; k++)
            expr_value(x, p->conditions[k].value, &v);
        for (size_t k = 0; k < p->nevents; k++)
            if (p->events[k].value)
                expr_value(x, p->events[k].value, &v);
    }
}

struct execution *execution_with_flips(const struct trace_mem *trace, struct tables *tables,
                                       struct flips **flips, struct error *err)
{
    struct program *p = program_open(tables, err);
    struct sharing *sharing;
    struct execution *e;

    *flips = NULL;
    if (!p)
        return NULL;
    sharing = sharing_new();
    for (size_t i = 0; i < trace->count; i++)
        sharing_event(sharing, &trace->events[i]);
    *flips = flips_new(p, tables, trace);
    flips_begin(*flips, FLIP_LEARN, sharing);
    walk_trace(p, trace, *flips, sharing);
    flips_begin(*flips, FLIP_TOUCH, sharing);
    walk_trace(p, trace, *flips, sharing);
    flips_begin(*flips, FLIP_KEEP, sharing);
    e = execution_make(trace, p, sharing, *flips);
    settle_values(*flips, e->x);
    sharing_free(sharing);
    (*flips)->sharing = NULL;
    (*flips)->program = NULL;
    program_close(p);
    return e;
}
