/* exec.c - instructions that only compute, and where control goes */
#include "execution/exec_inside.h"
#include "base/alloc.h"
#include "execution/flip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IDLE_MAX = 1 << 20, /* turns of a loop that no event shows: it will not end */
    IDLE_FLIP = 1 << 10 /* the same in code that is only tried */
};

/* It may depend on whatever the thread read so far. */
expr unknown_value(struct walk *w, unsigned width)
{
    expr e = expr_unknown(&w->x, width);

    w->stats.unknown++;
    w->x.nodes[e].flags |= EXPR_VARIES;
    w->x.nodes[e].b = (uint32_t)w->position;
    w->x.nodes[e].c = (uint32_t)(w->position >> 32);
    return e;
}

/* ---- operands ---- */

static void note_object(struct walk *w, expr e, struct module *m, uint32_t symbol)
{
    GROW(w->objects, w->objects_cap, w->nobjects + 1);
    map_put(&w->object_symbol, e, (uint32_t)w->nobjects);
    w->objects[w->nobjects++] = (struct object){ m, symbol };
}

/* One address for one name, whichever module says it. */
static expr external(struct walk *w, struct module *m, uint32_t symbol, const char *name)
{
    uint32_t known = w->names.count, n = intern_put(&w->names, name, strlen(name));

    if (n == known) {
        GROW(w->name_address, w->name_address_cap, n + (size_t)1);
        w->name_address[n] = expr_address(&w->x, 0, 0);
        note_object(w, w->name_address[n], m, symbol);
    }
    return w->name_address[n];
}

static expr thread_local_address(struct walk *w, struct thread *t, struct module *m,
                                 uint32_t symbol)
{
    uint32_t *e = map_put(&t->tls, (uint64_t)m->number << 32 | symbol, 0);

    if (!*e) {
        *e = expr_address(&w->x, 0, 0);
        note_object(w, *e, m, symbol);
    }
    return *e;
}

/* What the ELF file or an earlier walk knows of its address. */
static void learn_symbol(struct walk *w, struct module *m, uint32_t symbol,
                         const struct code_symbol *s)
{
    uint64_t at = program_symbol_address(w->p, m, s);

    if (!at && symbol < m->learned_cap)
        at = m->learned[symbol];
    if (at)
        expr_learn(&w->x, m->symbols[symbol], at);
}

static expr symbol_address(struct walk *w, struct thread *t, struct module *m, uint32_t symbol)
{
    const struct code_symbol *s = w->p->api->symbol(m->bitcode, symbol);

    if (s->thread_local_)
        return thread_local_address(w, t, m, symbol);
    GROW(m->symbols, m->symbols_cap, symbol + (size_t)1);
    if (!m->symbols[symbol]) {
        if (!s->internal && *s->name) {
            m->symbols[symbol] = external(w, m, symbol, s->name);
        } else {
            m->symbols[symbol] = expr_address(&w->x, 0, 0);
            note_object(w, m->symbols[symbol], m, symbol);
        }
        learn_symbol(w, m, symbol, s);
    }
    return m->symbols[symbol];
}

static expr block_address(struct walk *w, struct module *m, const struct code_const *c)
{
    char name[64];
    expr e;

    snprintf(name, sizeof(name), "\1%u:%u:%llu", m->number, c->symbol, (unsigned long long)c->low);
    e = external(w, m, c->symbol, name);
    map_put(&w->blocks, e, (uint32_t)c->low);
    return e;
}

expr const_value_of(struct walk *w, struct thread *t, struct module *m, const struct code_const *c)
{
    struct exprs *x = &w->x;
    expr e;

    switch (c->kind) {
    case CONST_INT:
        return expr_const(x, c->width, (u128)c->high << 64 | c->low);
    case CONST_ADDRESS:
        e = symbol_address(w, t, m, c->symbol);
        return c->low ? expr_binary(x, EX_ADD, e, expr_const(x, 64, c->low)) : e;
    case CONST_BLOCK:
        return block_address(w, m, c);
    default:
        return unknown_value(w, c->width);
    }
}

static bool differs_by_thread(struct walk *w, const struct module *m, const struct code_const *c)
{
    return c->kind == CONST_ADDRESS && w->p->api->symbol(m->bitcode, c->symbol)->thread_local_;
}

static expr const_operand(struct walk *w, struct thread *t, struct function *f, uint32_t i)
{
    const struct code_const *c = &f->code->consts[i];
    expr e = const_value_of(w, t, f->module, c);

    if (!differs_by_thread(w, f->module, c))
        f->consts[i] = e;
    return e;
}

expr operand_value(struct walk *w, struct thread *t, struct frame *fr, uint32_t operand)
{
    expr e;

    if (operand & CODE_CONST) {
        uint32_t i = operand & ~CODE_CONST;
        e = fr->f->consts[i];
        return e ? e : const_operand(w, t, fr->f, i);
    }
    e = t->slots[fr->base + operand];
    if (!e)
        e = t->slots[fr->base + operand] = unknown_value(w, fr->f->code->widths[operand]);
    return e;
}

void set_slot(struct thread *t, const struct frame *fr, uint32_t slot, expr e)
{
    t->slots[fr->base + slot] = e;
}

/* ---- control ---- */

/* All PHIs read before one is written. */
void go_to(struct walk *w, struct thread *t, struct frame *fr, uint32_t block)
{
    const struct code *c = fr->f->code;
    const struct code_block *b = &c->blocks[block];
    uint32_t pred = 0, n = 0;
    expr few[64], *values = few;
    size_t total = 0;

    if (b->nphis) {
        while (pred < b->npreds && c->extras[b->preds + pred] != (int64_t)fr->block)
            pred++;
        for (uint32_t i = 0; i < b->nphis; i++)
            total += c->phis[b->phis + i].lanes;
        if (total > 64)
            values = xmalloc(total * sizeof(*values));
        for (uint32_t i = 0; i < b->nphis; i++) {
            const struct code_phi *phi = &c->phis[b->phis + i];

            for (uint32_t k = 0; k < phi->lanes; k++)
                values[n++] =
                    pred < b->npreds
                        ? operand_value(w, t, fr, c->operands[phi->operand + pred * phi->lanes + k])
                        : 0;
        }
        n = 0;
        for (uint32_t i = 0; i < b->nphis; i++)
            for (uint32_t k = 0; k < c->phis[b->phis + i].lanes; k++)
                set_slot(t, fr, c->phis[b->phis + i].to + k, values[n++]);
        if (values != few)
            free(values);
        w->stats.instructions += b->nphis;
    }
    fr->block = block;
    fr->pc = b->first;
    if (w->flip)
        flip_went(w->flip, t, block);
}

/* Conditions that the compiler knew have no record. */
static enum go exec_decide(struct walk *w, struct thread *t, struct frame *fr, struct now *n,
                           uint64_t *outcome)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    expr e = operand_value(w, t, fr, c->operands[inst->operand]);
    expr few[32], *cases = few;
    uint32_t ncases = inst->noperands - 1;
    uint64_t position;
    u128 v, k;

    if (!(fr->f->expects[fr->pc] & EXPECTS(SITE_BRANCH))) {
        if (!expr_value(&w->x, e, &v))
            return GO_LOST;
        *outcome = 0;
        for (uint32_t i = 1; inst->op == I_SWITCH && i < inst->noperands; i++)
            if (expr_value(&w->x, operand_value(w, t, fr, c->operands[inst->operand + i]), &k) &&
                k == v)
                *outcome = i;
        if (inst->op == I_BRANCH)
            *outcome = v != 0;
        return GO_ON;
    }
    if (!n->ev)
        return GO_WAIT;
    if (!is_mine(fr, n, inst->index) || n->ev->op != OP_BRANCH)
        return GO_OTHER;
    *outcome = n->ev->value;
    struct step s = { .kind = STEP_BRANCH, .value = e, .outcome = *outcome };
    if (inst->op == I_SWITCH) {
        if (*outcome > ncases)
            return GO_LOST;
        if (ncases > 32)
            cases = xmalloc(ncases * sizeof(*cases));
        for (uint32_t i = 0; i < ncases; i++)
            cases[i] = operand_value(w, t, fr, c->operands[inst->operand + 1 + i]);
        s.cases = cases;
        s.ncases = ncases;
        v = 0;
        if (*outcome) {
            expr_value(&w->x, cases[*outcome - 1], &v);
            walk_check(w, t, &w->stats.branches, "switch", e, v);
        } else if (expr_value(&w->x, e, &v)) {
            bool is_case = false;
            for (uint32_t i = 0; i < ncases; i++)
                is_case |= expr_value(&w->x, cases[i], &k) && k == v;
            w->stats.branches.right += !is_case;
            w->stats.branches.wrong += is_case;
        } else {
            w->stats.branches.learned++;
        }
    } else {
        walk_check(w, t, &w->stats.branches, "branch", e, *outcome);
    }
    position = n->position;
    walk_step(w, t, n, &s);
    if (cases != few)
        free(cases);
    if (w->options.flips && !w->flip)
        flips_branch(w->options.flips, w, t, position, *outcome,
                     inst->op == I_SWITCH ? inst->noperands : 2);
    return GO_ON;
}

static enum go exec_branch(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct inst *inst = &fr->f->code->insts[fr->pc];
    const int64_t *to = &fr->f->code->extras[inst->extra];
    uint64_t outcome;
    enum go r = exec_decide(w, t, fr, n, &outcome);

    if (r != GO_ON)
        return r;
    if (inst->op == I_BRANCH)
        outcome = !outcome;
    go_to(w, t, fr, (uint32_t)to[outcome]);
    return GO_ON;
}

/* Computed goto: tables of block addresses are constants, so the target is an address node. */
static enum go exec_goto(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct code *c = fr->f->code;
    expr e = operand_value(w, t, fr, c->operands[c->insts[fr->pc].operand]);
    const uint32_t *block = map_get(&w->blocks, e);

    if (!block || *block >= c->nblocks)
        return GO_LOST;
    go_to(w, t, fr, *block);
    return GO_ON;
}

/* ---- computing ---- */

static void exec_gep(struct walk *w, struct thread *t, struct frame *fr, const struct inst *inst)
{
    const struct code *c = fr->f->code;
    struct exprs *x = &w->x;
    expr e = operand_value(w, t, fr, c->operands[inst->operand]);
    int64_t offset = c->extras[inst->extra];

    for (uint32_t i = 1; i < inst->noperands; i++) {
        expr k = operand_value(w, t, fr, c->operands[inst->operand + i]);
        uint64_t factor = (uint64_t)c->extras[inst->extra + i];

        k = expr_get(x, k)->width < 64 ? expr_extend(x, EX_SEXT, 64, k) : expr_extract(x, k, 0, 64);
        k = expr_binary(x, EX_MUL, k, expr_const(x, 64, factor));
        e = expr_binary(x, EX_ADD, e, k);
    }
    if (offset)
        e = expr_binary(x, EX_ADD, e, expr_const(x, 64, (uint64_t)offset));
    set_slot(t, fr, inst->to, e);
}

/* Lane 0 is lowest. */
static void exec_bits(struct walk *w, struct thread *t, struct frame *fr, const struct inst *inst)
{
    const struct code *c = fr->f->code;
    unsigned total = 0, at = 0;
    expr all = 0;

    for (uint32_t i = 0; i < inst->noperands; i++) {
        expr e = operand_value(w, t, fr, c->operands[inst->operand + i]);

        total += expr_get(&w->x, e)->width;
        if (total > EXPR_WIDTH_MAX)
            break;
        all = all ? expr_concat(&w->x, e, all) : e;
    }
    for (uint32_t i = 0; i < inst->lanes; i++) {
        unsigned width = c->widths[inst->to + i];
        bool fits = all && total <= EXPR_WIDTH_MAX && at + width <= total;

        set_slot(t, fr, inst->to + i,
                 fits ? expr_extract(&w->x, all, at, width) : unknown_value(w, width));
        at += width;
    }
}

static void exec_unknown(struct walk *w, struct thread *t, struct frame *fr,
                         const struct inst *inst)
{
    const struct code *c = fr->f->code;
    expr on = 0;

    for (uint32_t i = 0; i < inst->noperands; i++) {
        expr e = operand_value(w, t, fr, c->operands[inst->operand + i]);

        if (expr_varies(&w->x, e))
            on = on ? expr_opaque(&w->x, 1, FLOAT_OPS + 1, on, e) : e;
    }
    for (uint32_t i = 0; i < inst->lanes; i++) {
        unsigned width = c->widths[inst->to + i];
        expr e = unknown_value(w, width);

        if (on) {
            e = expr_opaque(&w->x, width, FLOAT_OPS + 2, on, e);
            w->stats.opaque++;
        }
        set_slot(t, fr, inst->to + i, e);
    }
}

static void exec_integer(struct walk *w, struct thread *t, struct frame *fr,
                         const struct inst *inst)
{
    const struct code *c = fr->f->code;
    bool two = inst->sub >= INT_UADD_OVERFLOW;
    uint32_t lanes = two ? inst->lanes / 2u : inst->lanes, per = inst->noperands / lanes;
    expr in[3] = { 0 };

    for (uint32_t i = 0; i < lanes; i++) {
        expr second = 0, e;

        for (uint32_t k = 0; k < 3; k++) {
            uint32_t at = k * lanes + i;
            in[k] = k < per || at < inst->noperands
                        ? operand_value(w, t, fr, c->operands[inst->operand + at])
                        : 0;
        }
        e = integer_op(&w->x, (enum integer_op)inst->sub, c->widths[inst->to + i], in[0], in[1],
                       in[2], &second);
        set_slot(t, fr, inst->to + i, e ? e : unknown_value(w, c->widths[inst->to + i]));
        if (two)
            set_slot(t, fr, inst->to + lanes + i, e ? second : unknown_value(w, 1));
    }
}

static void exec_select(struct walk *w, struct thread *t, struct frame *fr, const struct inst *inst)
{
    const struct code *c = fr->f->code;
    const uint32_t *o = &c->operands[inst->operand];
    uint32_t conditions = inst->noperands - 2u * inst->lanes;

    for (uint32_t i = 0; i < inst->lanes; i++) {
        expr on = operand_value(w, t, fr, o[conditions > 1 ? i : 0]);
        expr a = operand_value(w, t, fr, o[conditions + i]);
        expr b = operand_value(w, t, fr, o[conditions + inst->lanes + i]);

        set_slot(t, fr, inst->to + i, expr_ite(&w->x, on, a, b));
    }
}

/* A division that would trap ends the thread: what follows is there only if it does not. */
static void fix_division(struct walk *w, struct thread *t, unsigned op, expr a, expr b)
{
    struct exprs *x = &w->x;
    unsigned width = expr_get(x, b)->width;
    expr least, overflow;

    if (op < EX_UDIV || op > EX_SREM || !(expr_varies(x, a) || expr_varies(x, b)))
        return;
    walk_fixed(w, t, expr_binary(x, EX_NE, b, expr_const(x, width, 0)));
    if (op == EX_UDIV || op == EX_UREM)
        return;
    least = expr_binary(x, EX_EQ, a, expr_const(x, width, (u128)1 << (width - 1)));
    overflow = expr_binary(x, EX_EQ, b, expr_const(x, width, expr_mask(width)));
    walk_fixed(w, t, expr_binary(x, EX_AND, least, overflow));
}

static void exec_lanes(struct walk *w, struct thread *t, struct frame *fr, const struct inst *inst)
{
    const struct code *c = fr->f->code;
    const uint32_t *o = &c->operands[inst->operand];
    struct exprs *x = &w->x;

    for (uint32_t i = 0; i < inst->lanes; i++) {
        unsigned width = c->widths[inst->to + i];
        expr a = operand_value(w, t, fr, o[i]), e = a, b = 0;

        if (inst->noperands >= 2u * inst->lanes)
            b = operand_value(w, t, fr, o[inst->lanes + i]);
        switch (inst->op) {
        case I_BINARY:
            fix_division(w, t, inst->sub, a, b);
            e = expr_binary(x, (enum expr_op)inst->sub, a, b);
            if (inst->sub >= EX_UDIV && inst->sub <= EX_SREM) /* else the program ends here */
                walk_fixed(w, t, expr_binary(x, EX_NE, b, expr_const(x, width, 0)));
            break;
        case I_COMPARE:
            e = inst->sub & CODE_SWAP ? expr_binary(x, (enum expr_op)(inst->sub ^ CODE_SWAP), b, a)
                                      : expr_binary(x, (enum expr_op)inst->sub, a, b);
            break;
        case I_EXTEND:
            e = expr_extend(x, (enum expr_op)inst->sub, width, a);
            break;
        case I_TRUNCATE:
            e = expr_resize(x, width, a);
            break;
        case I_FLOAT:
            e = inst->sub == FLOAT_MULADD
                    ? expr_float(x, FLOAT_ADD, width, expr_float(x, FLOAT_MUL, width, a, b),
                                 operand_value(w, t, fr, o[2u * inst->lanes + i]))
                    : expr_float(x, inst->sub, width, a, b);
            break;
        default: /* I_COPY */
            break;
        }
        set_slot(t, fr, inst->to + i, e);
    }
}

static void exec_alloca(struct walk *w, struct thread *t, struct frame *fr, const struct inst *inst)
{
    const struct code *c = fr->f->code;
    uint64_t bytes = (uint64_t)c->extras[inst->extra], at;
    expr number = operand_value(w, t, fr, c->operands[inst->operand]);
    u128 n = 1;

    if (!fr->f->is_private[inst->to]) {
        expr e = expr_address(&w->x, 0, 0);

        if (w->flip && expr_value(&w->x, number, &n) && n < 1 << 16)
            expr_set_value(&w->x, e, flip_local(w->flip, bytes * (uint64_t)n));
        set_slot(t, fr, inst->to, e);
        return;
    }
    walk_fixed(w, t, number);
    if (!expr_value(&w->x, number, &n) || n > 1 << 24)
        n = 4096; /* accesses beyond are not known */
    at = private_push(&t->stack, bytes * (uint64_t)n);
    set_slot(t, fr, inst->to,
             expr_address(&w->x, (uint32_t)((at - PRIVATE_BASE) / 16) + 1, t->number));
}

static void exec_forget(struct walk *w, struct thread *t, struct frame *fr, const struct inst *inst)
{
    enum { VA_LIST_BYTES = 24 };
    uint64_t at;

    memory_forget_all(&w->memory); /* registers were saved on the stack */
    if (private_place(w, t, operand_value(w, t, fr, fr->f->code->operands[inst->operand]), &at))
        memory_forget(&w->memory, &t->stack, at, VA_LIST_BYTES);
}

/* Goes on until an event is needed or the frame changes. */
enum go exec(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    enum go r = GO_ON;

    for (;;) {
        const struct inst *inst = &c->insts[fr->pc];

        switch (inst->op) {
        case I_UNKNOWN:
            exec_unknown(w, t, fr, inst);
            break;
        case I_BITS:
            exec_bits(w, t, fr, inst);
            break;
        case I_SELECT:
            exec_select(w, t, fr, inst);
            break;
        case I_GEP:
            exec_gep(w, t, fr, inst);
            break;
        case I_INTEGER:
            exec_integer(w, t, fr, inst);
            break;
        case I_ALLOCA:
            exec_alloca(w, t, fr, inst);
            break;
        case I_FORGET:
            exec_forget(w, t, fr, inst);
            break;
        case I_COPY:
        case I_BINARY:
        case I_COMPARE:
        case I_EXTEND:
        case I_TRUNCATE:
        case I_FLOAT:
            exec_lanes(w, t, fr, inst);
            break;
        case I_LOAD:
        case I_STORE:
        case I_COPY_MEMORY:
        case I_FILL_MEMORY:
        case I_RMW:
        case I_CAS:
        case I_FENCE:
            r = exec_memory(w, t, fr, n);
            if (r != GO_ON)
                return r;
            break;
        case I_JUMP:
            if (++t->idle > (w->flip ? IDLE_FLIP : IDLE_MAX))
                return GO_LOST;
            go_to(w, t, fr, (uint32_t)c->extras[inst->extra]);
            w->stats.instructions++;
            continue;
        case I_BRANCH:
        case I_SWITCH:
            r = exec_branch(w, t, fr, n);
            if (r != GO_ON)
                return r;
            w->stats.instructions++;
            continue;
        case I_GOTO:
            r = exec_goto(w, t, fr);
            if (r != GO_ON)
                return r;
            w->stats.instructions++;
            continue;
        case I_CALL:
            return exec_call(w, t, fr, n);
        case I_RETURN:
            return exec_return(w, t, fr, n);
        default: /* I_UNREACHABLE, I_RESUME: whatever comes, comes from elsewhere */
            return n->ev ? GO_OTHER : GO_WAIT;
        }
        w->stats.instructions++;
        fr->pc++;
    }
}
