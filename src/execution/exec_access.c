/* exec_access.c - loads, stores, atomics, memory intrinsics
 *
 * An access with a site has an event: its address and value are compared with what
 * the walk computed, and a load yields READ, or, in memory that only this thread
 * touches, what the thread stored there last. An access without a site is to memory
 * that nobody else can see (or to constants): only the walk knows what it holds.
 *
 * Where such an access's address depends on reads, the walk has picked the place that
 * the recorded values give: STEP_FIXED says that those must stay.
 */
#include "execution/exec_inside.h"
#include "base/alloc.h"

/* Private thread-local variables live in the table of the program's memory, where no address is. */
#define LOCAL_BASE(thread) ((UINT64_C(1) << 61) + ((uint64_t)(thread) << 36))

enum { PLACE_DEPTH = 32, COPY_MAX = 1 << 20 /* bytes; of more the content is forgotten */ };
enum { PIECES_MAX = 1024 }; /* bytes: what a longer copy writes is not told */

/* ---- where ---- */

/* object + number; false: no object shows. */
static bool find_object(struct walk *w, expr e, expr *object, uint64_t *offset, unsigned depth)
{
    const struct expr_node n = *expr_get(&w->x, e);
    u128 v;

    if (n.op == EX_ADDRESS) {
        *object = e;
        *offset = 0;
        return true;
    }
    if (depth == 0)
        return false;
    if (n.op == EX_ADD) {
        if (expr_value(&w->x, n.b, &v) && find_object(w, n.a, object, offset, depth - 1)) {
            *offset += (uint64_t)v;
            return true;
        }
        if (expr_value(&w->x, n.a, &v) && find_object(w, n.b, object, offset, depth - 1)) {
            *offset += (uint64_t)v;
            return true;
        }
    }
    if (n.op == EX_SUB && expr_value(&w->x, n.b, &v) &&
        find_object(w, n.a, object, offset, depth - 1)) {
        *offset -= (uint64_t)v;
        return true;
    }
    if (n.op == EX_ITE && expr_value(&w->x, n.a, &v))
        return find_object(w, v ? n.b : n.c, object, offset, depth - 1);
    return false;
}

static const struct object *symbol_of(struct walk *w, expr object)
{
    const uint32_t *i = map_get(&w->object_symbol, object);

    return i ? &w->objects[*i] : NULL;
}

static expr constant_bytes(struct walk *w, struct thread *t, const struct object *o,
                           uint64_t offset, unsigned bytes)
{
    const struct code_data *d = w->p->api->data(o->module->bitcode, o->symbol);
    u128 v = 0;

    if (!d || offset > d->count || bytes > d->count - offset || bytes > 16)
        return 0;
    for (uint32_t i = 0; i < d->naddresses; i++) {
        uint64_t at = d->places[i], n = (d->addresses[i].width + 7u) / 8;

        if (at == offset && n == bytes)
            return const_value_of(w, t, o->module, &d->addresses[i]);
        if (at < offset + bytes && offset < at + n)
            return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        v |= (u128)d->bytes[offset + i] << 8 * i;
    return expr_const(&w->x, 8 * bytes, v);
}

/* A thread-local variable that is never recorded: a copy of its initial value. */
static uint64_t local_place(struct walk *w, struct thread *t, expr object, const struct object *o)
{
    uint32_t *known = map_put(&t->locals, object, UINT32_MAX);
    uint64_t bytes = w->p->api->symbol(o->module->bitcode, o->symbol)->bytes, at;

    if (*known != UINT32_MAX)
        return LOCAL_BASE(t->number) + *known * UINT64_C(16);
    *known = (uint32_t)(t->local_top / 16);
    at = LOCAL_BASE(t->number) + t->local_top;
    t->local_top += (bytes + 31) / 16 * 16;
    for (uint64_t i = 0; i < bytes && i < 1 << 20; i++) {
        expr e = constant_bytes(w, t, o, i, 1);
        if (e)
            memory_store(&w->memory, NULL, &w->x, at + i, 1, e);
    }
    return at;
}

bool private_place(struct walk *w, struct thread *t, expr address, uint64_t *at)
{
    const struct object *o;
    uint64_t offset;
    expr object;

    if (!find_object(w, address, &object, &offset, PLACE_DEPTH))
        return false;
    const struct expr_node *n = expr_get(&w->x, object);
    if (n->b) {
        *at = PRIVATE_BASE + (n->b - UINT64_C(1)) * 16 + offset;
        return n->c == t->number;
    }
    o = symbol_of(w, object);
    if (!o || !w->p->api->symbol(o->module->bitcode, o->symbol)->thread_local_)
        return false;
    *at = local_place(w, t, object, o) + offset;
    return true;
}

/* What a constant of the program holds at that address; 0: none is there. */
static expr constant_at(struct walk *w, struct thread *t, uint64_t at, unsigned bytes)
{
    struct object o;
    const struct code_symbol *s;
    uint64_t start;

    if (!program_object_at(w->p, at, &o.module, &o.symbol, &start))
        return 0;
    s = w->p->api->symbol(o.module->bitcode, o.symbol);
    return s->constant && s->function == CODE_NONE ? constant_bytes(w, t, &o, at - start, bytes)
                                                   : 0;
}

/* What a load without a record sees; 0: not known. */
static expr load_unrecorded(struct walk *w, struct thread *t, expr address, uint64_t offset,
                            unsigned bytes)
{
    const struct object *o;
    uint64_t at;
    u128 number;
    expr object;

    if (private_place(w, t, address, &at))
        return memory_load(&w->memory, &t->stack, &w->x, at + offset, bytes);
    if (!find_object(w, address, &object, &at, PLACE_DEPTH)) /* a table whose address was read */
        return expr_value(&w->x, address, &number)
                   ? constant_at(w, t, (uint64_t)number + offset, bytes)
                   : 0;
    o = symbol_of(w, object);
    if (!o || !w->p->api->symbol(o->module->bitcode, o->symbol)->constant)
        return 0;
    return constant_bytes(w, t, o, at + offset, bytes);
}

/* Is it in a constant, as recorded? */
static bool is_constant(struct walk *w, expr address)
{
    const struct object *o;
    uint64_t at;
    expr object;

    if (!expr_varies(&w->x, address))
        return false;
    if (!find_object(w, address, &object, &at, PLACE_DEPTH))
        return true; /* or it is nowhere, and then the path ends there */
    o = symbol_of(w, object);
    return o && w->p->api->symbol(o->module->bitcode, o->symbol)->constant;
}

/* A path that was not executed reads another place than the recorded one: which. */
static bool flip_moves(struct walk *w, expr address, uint64_t *now)
{
    u128 v, recorded;

    if (!w->flip || !expr_varies(&w->x, address) || !flip_value(w->flip, address, &v) ||
        (expr_value(&w->x, address, &recorded) && recorded == v))
        return false;
    *now = (uint64_t)v;
    return flip_fix(w->flip, address, &v);
}

/* ---- recorded values ---- */

static bool is_private_memory(struct walk *w, uint64_t at, uint64_t bytes)
{
    return w->options.is_private && bytes <= UINT32_MAX &&
           w->options.is_private(w->options.private_arg, at, (uint32_t)bytes);
}

/* Do we know what the memory of a recorded access holds? A variable of which some accesses are
 * recorded (through a pointer that may be to another, too) and some are not is at its private
 * place; other memory is if only this thread touches it. */
static bool is_followed(struct walk *w, struct thread *t, expr address, uint64_t recorded,
                        uint64_t bytes, uint64_t *at)
{
    *at = recorded;
    if (expr_get(&w->x, address)->op != EX_READ && private_place(w, t, address, at))
        return true;
    *at = recorded;
    return is_private_memory(w, recorded, bytes);
}

/* What an event read, from `offset` on; `value` where `valued`. */
static expr recorded_read(struct walk *w, struct thread *t, const struct now *n, expr address,
                          uint64_t offset, unsigned bytes, bool valued, u128 value)
{
    uint64_t at;
    expr constant = w->flip ? constant_at(w, t, n->ev->target + offset, bytes) : 0;

    if (constant) { /* a table of virtual functions, mostly */
        t->step.private_ = true;
        return constant;
    }
    bool private_ = is_followed(w, t, address, n->ev->target, offset + bytes, &at);
    expr e = private_ ? memory_load(&w->memory, &t->stack, &w->x, at += offset, bytes) : 0;

    if (e && (!valued || w->flip || expr_learn(&w->x, e, value))) {
        w->stats.private_reads++;
        t->step.private_ = true;
        return e;
    }
    w->stats.changed += e != 0;
    e = expr_read(&w->x, 8 * bytes, n->position, (uint32_t)offset);
    if (valued)
        expr_set_value(&w->x, e, value);
    if (private_)
        memory_store(&w->memory, &t->stack, &w->x, at, bytes, e);
    return e;
}

static void recorded_write(struct walk *w, struct thread *t, const struct now *n, expr address,
                           uint64_t offset, unsigned bytes, expr e)
{
    uint64_t at;

    if (is_followed(w, t, address, n->ev->target, offset + bytes, &at))
        memory_store(&w->memory, &t->stack, &w->x, at + offset, bytes, e);
    else
        memory_forget(&w->memory, NULL, n->ev->target + offset, bytes); /* part of it may be */
}

static void check_address(struct walk *w, struct thread *t, expr address, uint64_t at)
{
    walk_check(w, t, &w->stats.addresses, "address", address, at);
}

/* Is the event at hand this instruction's, of one of two operations? */
static enum go awaited(const struct frame *fr, const struct now *n, unsigned op, unsigned op2)
{
    if (!n->ev)
        return GO_WAIT;
    if (!is_mine(fr, n, fr->f->code->insts[fr->pc].index) || (n->ev->op != op && n->ev->op != op2))
        return GO_OTHER;
    return GO_ON;
}

/* ---- loads and stores ---- */

static unsigned bytes_of(unsigned width)
{
    return (width + 7) / 8;
}

static enum go exec_load(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    expr address = operand_value(w, t, fr, c->operands[inst->operand]);
    bool seen = fr->f->expects[fr->pc] & (EXPECTS(SITE_READ) | EXPECTS(SITE_ATOMIC));
    enum go r = seen ? awaited(fr, n, OP_READ, OP_LOAD) : GO_ON;
    struct step s = { .kind = STEP_READ, .address = address };
    uint64_t now = 0;
    bool moved = false;

    if (r != GO_ON)
        return r;
    t->step.private_ = false;
    if (seen || is_constant(w, address))
        walk_other_values(w, t, n, address);
    if (seen)
        check_address(w, t, address, n->ev->target);
    else if (!(moved = flip_moves(w, address, &now)))
        walk_fixed(w, t, address);
    for (uint32_t i = 0; i < inst->lanes; i++) {
        unsigned width = c->widths[inst->to + i], bytes = bytes_of(width);
        int64_t offset = c->extras[inst->extra + i];
        bool valued = seen && n->ev->flags & EV_VALUE && inst->lanes == 1 && bytes <= n->ev->size;
        expr e = 0;

        if (offset != INT64_MIN && seen)
            e = recorded_read(w, t, n, address, (uint64_t)offset, bytes, valued,
                              valued ? n->ev->value : 0);
        else if (offset != INT64_MIN && moved)
            e = constant_at(w, t, now + (uint64_t)offset, bytes);
        else if (offset != INT64_MIN)
            e = load_unrecorded(w, t, address, (uint64_t)offset, bytes);
        e = e ? expr_resize(&w->x, width, e) : unknown_value(w, width);
        set_slot(t, fr, inst->to + i, e);
        s.value = i ? 0 : e;
    }
    s.private_ = t->step.private_;
    if (seen)
        walk_step(w, t, n, &s);
    return GO_ON;
}

static enum go exec_store(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    expr address = operand_value(w, t, fr, c->operands[inst->operand]);
    bool seen = fr->f->expects[fr->pc] & (EXPECTS(SITE_WRITE) | EXPECTS(SITE_ATOMIC));
    enum go r = seen ? awaited(fr, n, OP_WRITE, OP_STORE) : GO_ON;
    uint32_t lanes = inst->noperands - 1;
    struct step s = { .kind = STEP_WRITE, .address = address };
    uint64_t at = 0;
    bool private_ = false;

    if (r != GO_ON)
        return r;
    if (seen) {
        walk_other_values(w, t, n, address);
        check_address(w, t, address, n->ev->target);
    } else {
        walk_fixed(w, t, address);
        private_ = private_place(w, t, address, &at);
    }
    for (uint32_t i = 0; i < lanes; i++) {
        expr e = operand_value(w, t, fr, c->operands[inst->operand + 1 + i]);
        unsigned bytes = bytes_of(expr_get(&w->x, e)->width);
        int64_t offset = c->extras[inst->extra + i];
        u128 v;

        if (offset == INT64_MIN)
            continue;
        e = expr_resize(&w->x, 8 * bytes, e);
        if (seen && lanes == 1 && n->ev->flags & EV_VALUE && bytes <= 8) {
            walk_check(w, t, &w->stats.values, "value", e, n->ev->value);
            if (expr_value(&w->x, e, &v) && v != (n->ev->value & expr_mask(8 * bytes)))
                e = expr_const(&w->x, 8 * bytes, n->ev->value); /* go on with what happened */
        }
        s.value = i ? 0 : e;
        if (seen)
            recorded_write(w, t, n, address, (uint64_t)offset, bytes, e);
        else if (private_)
            memory_store(&w->memory, &t->stack, &w->x, at + (uint64_t)offset, bytes, e);
    }
    if (seen)
        walk_step(w, t, n, &s);
    return GO_ON;
}

/* ---- atomics ---- */

/* The old value: of an event, or of private memory. */
static expr old_value(struct walk *w, struct thread *t, const struct now *n, bool seen,
                      expr address, unsigned bytes)
{
    bool valued;
    expr e;

    if (!seen) {
        e = load_unrecorded(w, t, address, 0, bytes);
        return e ? e : unknown_value(w, 8 * bytes);
    }
    valued = n->ev->flags & (n->ev->op == OP_RMW ? EV_OLD : EV_VALUE);
    return recorded_read(w, t, n, address, 0, bytes, valued,
                         n->ev->op == OP_RMW ? n->ev->old : n->ev->value);
}

static void new_value(struct walk *w, struct thread *t, const struct now *n, bool seen,
                      expr address, unsigned bytes, expr e)
{
    uint64_t at;

    if (seen) {
        if (n->ev->flags & EV_OLD)
            walk_check(w, t, &w->stats.values, "atomic value", e, n->ev->value);
        recorded_write(w, t, n, address, 0, bytes, e);
    } else if (private_place(w, t, address, &at)) {
        memory_store(&w->memory, &t->stack, &w->x, at, bytes, e);
    }
}

static enum go exec_rmw(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    expr address = operand_value(w, t, fr, c->operands[inst->operand]);
    expr operand = operand_value(w, t, fr, c->operands[inst->operand + 1]), old, e;
    bool seen = fr->f->expects[fr->pc] & EXPECTS(SITE_ATOMIC);
    enum go r = seen ? awaited(fr, n, OP_RMW, OP_RMW) : GO_ON;
    unsigned width = expr_get(&w->x, operand)->width, bytes = bytes_of(width);

    if (r != GO_ON)
        return r;
    if (seen)
        check_address(w, t, address, n->ev->target);
    old = expr_resize(&w->x, width, old_value(w, t, n, seen, address, bytes));
    e = rmw_value(&w->x, (enum rmw_op)inst->sub, old, operand);
    if (!e)
        e = unknown_value(w, width);
    new_value(w, t, n, seen, address, bytes, expr_resize(&w->x, 8 * bytes, e));
    set_slot(t, fr, inst->to, old);
    if (seen)
        walk_step(
            w, t, n,
            &(struct step){ .kind = STEP_UPDATE, .address = address, .value = e, .old = old });
    return GO_ON;
}

/* Succeeds if the old value is the expected one: that decides what event it is. */
static enum go exec_cas(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    expr address = operand_value(w, t, fr, c->operands[inst->operand]);
    expr expected = operand_value(w, t, fr, c->operands[inst->operand + 1]);
    expr wanted = operand_value(w, t, fr, c->operands[inst->operand + 2]), old, same;
    bool seen = fr->f->expects[fr->pc] & EXPECTS(SITE_ATOMIC);
    enum go r = seen ? awaited(fr, n, OP_RMW, OP_LOAD) : GO_ON;
    unsigned width = expr_get(&w->x, expected)->width, bytes = bytes_of(width);
    u128 v = 0;

    if (r != GO_ON)
        return r;
    if (seen)
        check_address(w, t, address, n->ev->target);
    old = expr_resize(&w->x, width, old_value(w, t, n, seen, address, bytes));
    same = expr_binary(&w->x, EX_EQ, old, expected);
    if (seen && n->ev->flags & EV_VALUE)
        walk_check(w, t, &w->stats.values, "success", same, n->ev->op == OP_RMW);
    walk_fixed(w, t, same);
    bool success = seen ? n->ev->op == OP_RMW : expr_value(&w->x, same, &v) && v;
    if (success)
        new_value(w, t, n, seen, address, bytes, expr_resize(&w->x, 8 * bytes, wanted));
    set_slot(t, fr, inst->to, old);
    set_slot(t, fr, inst->to + 1, same);
    if (seen)
        walk_step(w, t, n,
                  &(struct step){ .kind = success ? STEP_UPDATE : STEP_READ,
                                  .address = address,
                                  .value = success ? wanted : old,
                                  .old = old });
    return GO_ON;
}

/* ---- memory intrinsics ---- */

/* Where a copy gets its bytes, or what a fill fills with. */
struct source {
    expr from;
    uint64_t at;       /* in memory that we follow */
    bool inside;       /* it is there */
    bool reads, fills; /* an event told of it; all bytes are `from` */
};

static struct source source_of(struct walk *w, struct thread *t, const struct frame *fr, expr from,
                               uint64_t bytes)
{
    struct source s = { .from = from };

    s.fills = fr->f->code->insts[fr->pc].op != I_COPY_MEMORY;
    s.reads = fr->f->expects[fr->pc] & EXPECTS(SITE_READ);
    s.inside = !s.fills && (s.reads ? is_followed(w, t, from, fr->from_at, bytes, &s.at)
                                    : private_place(w, t, from, &s.at));
    return s;
}

/* What is written from byte i on; 0: some of it is not known. */
static expr source_bytes(struct walk *w, struct thread *t, const struct frame *fr,
                         const struct source *s, uint64_t i, unsigned n)
{
    expr byte, e;

    if (s->inside)
        return memory_load(&w->memory, &t->stack, &w->x, s->at + i, n);
    if (!s->fills)
        return s->reads ? expr_read(&w->x, 8 * n, fr->read_position, (uint32_t)i)
                        : load_unrecorded(w, t, s->from, i, n);
    e = byte = expr_resize(&w->x, 8, s->from);
    for (unsigned k = 1; k < n; k++)
        e = expr_concat(&w->x, byte, e);
    return e;
}

/* In pieces of so many bytes, the last one the rest; false: one is known in part only, as with
 * padding. */
static bool list_pieces(struct walk *w, struct thread *t, const struct frame *fr,
                        const struct source *s, uint64_t bytes, unsigned each, expr *out)
{
    for (uint64_t i = 0; i < bytes; i += each) {
        unsigned n = bytes - i < each ? (unsigned)(bytes - i) : each;

        out[i / each] = source_bytes(w, t, fr, s, i, n);
        for (unsigned k = 0; !out[i / each] && n > 1 && k < n; k++)
            if (source_bytes(w, t, fr, s, i + k, 1))
                return false;
    }
    return true;
}

/* What the copy or fill at hand writes: a value, or pieces. */
static void tell_pieces(struct walk *w, struct thread *t, const struct frame *fr, expr from,
                        uint64_t bytes, expr *pieces, struct step *s)
{
    struct source source = source_of(w, t, fr, from, bytes);
    unsigned each = 8;

    if (bytes <= 16) {
        s->value = source_bytes(w, t, fr, &source, 0, (unsigned)bytes);
        return;
    }
    while (!list_pieces(w, t, fr, &source, bytes, each, pieces))
        each /= 2;
    s->pieces = pieces;
    s->piece_bytes = each;
    s->npieces = (bytes + each - 1) / each;
}

/* One side of a copy: the events that tell of it, at most 1 MiB each. `length` is UINT64_MAX where
 * only the event says. `from`: what is written comes from there, or is that. */
static enum go take_range(struct walk *w, struct thread *t, struct frame *fr, struct now *n,
                          unsigned op, expr address, expr from, uint64_t length, uint64_t *at)
{
    expr pieces[PIECES_MAX];

    while (length && fr->done < length) {
        struct step s = { .kind = op == OP_READ ? STEP_READ : STEP_WRITE, .address = address };
        enum go r = awaited(fr, n, op, op);

        if (r == GO_OTHER && length == UINT64_MAX)
            break;
        if (r != GO_ON)
            return r;
        if (!fr->done) {
            *at = n->ev->target;
            fr->read_position = op == OP_READ ? n->position : fr->read_position;
            check_address(w, t, address, n->ev->target);
        }
        fr->done += n->ev->size;
        if (length == UINT64_MAX && n->ev->size < ACCESS_MAX_BYTES)
            length = fr->done;
        if (op == OP_WRITE && n->ev->size == length && length <= PIECES_MAX)
            tell_pieces(w, t, fr, from, length, pieces, &s);
        walk_step(w, t, n, &s);
    }
    return GO_ON;
}

/* Bytes that an event without values read. */
static void store_read(struct walk *w, struct thread *t, uint64_t to, uint64_t position,
                       uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes && i < 4096; i += 8) {
        unsigned n = bytes - i < 8 ? (unsigned)(bytes - i) : 8;

        memory_store(&w->memory, &t->stack, &w->x, to + i, n,
                     expr_read(&w->x, 8 * n, position, (uint32_t)i));
    }
    if (bytes > 4096)
        memory_forget(&w->memory, &t->stack, to + 4096, bytes - 4096);
}

/* The bytes of a constant. */
static void copy_constant(struct walk *w, struct thread *t, uint64_t to, expr from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes && i < COPY_MAX;) {
        unsigned n = bytes - i >= 8 ? 8 : 1;
        expr e = load_unrecorded(w, t, from, i, n);

        if (!e && n == 8)
            e = load_unrecorded(w, t, from, i, n = 1);
        if (e)
            memory_store(&w->memory, &t->stack, &w->x, to + i, n, e);
        else
            memory_forget(&w->memory, &t->stack, to + i, n);
        i += n;
    }
}

/* What the intrinsic does to memory that we follow. */
static void move_bytes(struct walk *w, struct thread *t, const struct frame *fr, expr to, expr from,
                       uint64_t bytes)
{
    bool copies = fr->f->code->insts[fr->pc].op == I_COPY_MEMORY;
    bool reads = fr->f->expects[fr->pc] & EXPECTS(SITE_READ);
    bool writes = fr->f->expects[fr->pc] & EXPECTS(SITE_WRITE);
    uint64_t at, source;

    if (!bytes || (!writes && !private_place(w, t, to, &at)))
        return;
    if (writes && !is_followed(w, t, to, fr->to_at, bytes, &at)) {
        memory_forget(&w->memory, NULL, fr->to_at, bytes);
        return;
    }
    if (!copies && bytes <= COPY_MAX)
        for (uint64_t i = 0; i < bytes; i++)
            memory_store(&w->memory, &t->stack, &w->x, at + i, 1, expr_resize(&w->x, 8, from));
    else if (!copies)
        memory_forget(&w->memory, &t->stack, at, bytes);
    else if (reads ? is_followed(w, t, from, fr->from_at, bytes, &source)
                   : private_place(w, t, from, &source))
        memory_copy(&w->memory, &t->stack, at, source, bytes);
    else if (reads)
        store_read(w, t, at, fr->read_position, bytes);
    else
        copy_constant(w, t, at, from, bytes);
}

static enum go exec_range(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    const uint32_t *o = &c->operands[inst->operand];
    expr to = operand_value(w, t, fr, o[0]), from = operand_value(w, t, fr, o[1]);
    expr count = operand_value(w, t, fr, o[2]);
    bool reads = fr->f->expects[fr->pc] & EXPECTS(SITE_READ);
    bool writes = fr->f->expects[fr->pc] & EXPECTS(SITE_WRITE);
    u128 v;
    uint64_t bytes = expr_value(&w->x, count, &v) ? (uint64_t)v : UINT64_MAX;
    enum go r = GO_ON;

    if (reads && !fr->read_done)
        r = take_range(w, t, fr, n, OP_READ, from, 0, bytes, &fr->from_at);
    if (r != GO_ON)
        return r;
    if (!fr->read_done && reads && bytes == UINT64_MAX)
        expr_learn(&w->x, count, bytes = fr->done);
    if (!fr->read_done)
        fr->done = 0;
    fr->read_done = true;
    if (writes)
        r = take_range(w, t, fr, n, OP_WRITE, to, from, bytes, &fr->to_at);
    if (r != GO_ON)
        return r;
    if (bytes == UINT64_MAX)
        bytes = fr->done;
    fr->read_done = false;
    fr->done = 0;
    walk_fixed(w, t, count);
    if (!writes)
        walk_fixed(w, t, to);
    if (!reads && inst->op == I_COPY_MEMORY)
        walk_fixed(w, t, from);
    move_bytes(w, t, fr, to, from, bytes);
    return GO_ON;
}

enum go exec_memory(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    switch (fr->f->code->insts[fr->pc].op) {
    case I_LOAD:
        return exec_load(w, t, fr, n);
    case I_STORE:
        return exec_store(w, t, fr, n);
    case I_RMW:
        return exec_rmw(w, t, fr, n);
    case I_CAS:
        return exec_cas(w, t, fr, n);
    case I_FENCE:
        if (fr->f->expects[fr->pc] & EXPECTS(SITE_ATOMIC)) {
            enum go r = awaited(fr, n, OP_FENCE, OP_FENCE);
            if (r != GO_ON)
                return r;
            walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
        }
        return GO_ON;
    default:
        return exec_range(w, t, fr, n);
    }
}
