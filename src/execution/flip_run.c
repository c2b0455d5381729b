/* flip_run.c - the code behind another outcome of a branch, executed
 *
 * The walker's own code executes the copy: it waits for an event where the program would
 * make one, and here that event is made up: its address is the value of the address
 * expression, its value what memory holds in the order of the trace. Whatever depends on
 * such a guess is a condition.
 *
 * Up to the join point decisions that depend on reads go both ways (FLIP_PATHS_MAX); behind
 * it, where the paper stops, the path goes on as the guesses say.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { DECIDED_MAX = 8, FLIP_WAITING_MAX = 96 };

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

/* Copies and fills. */
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

/* The outcome of the branch at hand, or the value of the pointer at hand. */
struct decision {
    uint64_t outcome;
    expr pointer; /* 0: a branch */
};

/* Ways that are still to go. By turns the one that is nearest to the branch (what lies behind many
 * decisions needs many reads to see what they should) and the one that is farthest from it. */
struct work {
    struct flip *waiting[FLIP_WAITING_MAX];
    struct decision decisions[FLIP_WAITING_MAX]; /* of each: what comes next */
    size_t count, paths;                         /* paths: gone */
};

/* The nearest of them, or the farthest. */
static size_t extreme(const struct work *work, bool nearest)
{
    size_t best = 0;

    for (size_t i = 1; i < work->count; i++) {
        size_t a = work->waiting[i]->path.nevents, b = work->waiting[best]->path.nevents;

        if (nearest ? a < b : a > b)
            best = i;
    }
    return best;
}

static struct flip *take_out(struct work *work, size_t i, struct decision *d)
{
    struct flip *f = work->waiting[i];

    *d = work->decisions[i];
    work->waiting[i] = work->waiting[--work->count];
    work->decisions[i] = work->decisions[work->count];
    return f;
}

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

static bool assume_decision(struct flip *f, const struct decision *d)
{
    return d->pointer ? flip_assume(f, d->pointer, d->outcome) : assume_outcome(f, d->outcome);
}

static void add_work(struct flip *f, struct work *work, struct decision d)
{
    struct flip *copy, *farthest;
    struct decision of_farthest;

    f->memory = f->w->memory; /* it is at work on that */
    copy = flip_copy(f);
    if (!assume_decision(copy, &d) && (f->joined || d.pointer)) {
        flip_free(copy);
        return;
    }
    if (work->count == FLIP_WAITING_MAX) {
        farthest = take_out(work, extreme(work, false), &of_farthest);
        f->all->stats.dropped++;
        if (farthest->path.nevents <= copy->path.nevents) {
            flip_free(copy);
            copy = farthest;
            d = of_farthest;
        } else {
            flip_free(farthest);
        }
    }
    work->waiting[work->count] = copy;
    work->decisions[work->count++] = d;
}

/* That fresh memory is not NULL is all that can be said about its address. */
static bool is_null_test(const struct flip *f, expr e)
{
    const struct exprs *x = &f->w->x;
    const struct expr_node *n = expr_get(x, e);
    const struct expr_node *b = n->op == EX_EQ || n->op == EX_NE ? expr_get(x, n->b) : NULL;

    return b && b->op == EX_CONST && b->value == 0;
}

/* How often the path has met the decision at hand. */
static uint32_t *times_decided(struct flip *f, const struct frame *fr)
{
    return map_put(&f->decided,
                   (uint64_t)fr->f->module->number << 48 ^ (uint64_t)fr->f->index << 24 ^ fr->pc,
                   0);
}

static void flip_run_decide(struct flip *f, const struct frame *fr, struct work *work)
{
    const struct inst *inst = &fr->f->code->insts[fr->pc];
    uint64_t outcomes = inst->op == I_BRANCH ? 2 : inst->noperands, chosen = 0;
    expr e = operand(f, 0);
    bool varies = expr_varies(&f->w->x, e), known;
    uint32_t *times = times_decided(f, fr);
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
                add_work(f, work, (struct decision){ .outcome = o });
            }
    *times += varies;
    feed_branch(f, chosen);
}

/* What the instruction follows or calls; 0: nothing. */
static expr pointer_at_hand(struct flip *f, const struct frame *fr, const struct inst *inst)
{
    const struct code_call *call;

    if (inst->op == I_LOAD || inst->op == I_STORE)
        return operand(f, 0);
    if (inst->op != I_CALL)
        return 0;
    call = call_of(fr);
    return call->is_asm || call->symbol != CODE_NONE
               ? 0
               : operand_value(f->w, f->t, (struct frame *)(uintptr_t)fr, call->callee);
}

void flip_decide_pointer(struct flip *f, expr e)
{
    const struct frame *fr = &f->t->frames[f->t->depth - 1];
    uint64_t values[OTHER_VALUES_MAX];
    uint32_t *times;
    size_t n;

    if (!e || !expr_varies(&f->w->x, e))
        return;
    times = times_decided(f, fr);
    if (*times)
        return;
    *times = 1;
    n = flip_other_values(f, e, values);
    for (size_t i = 0; i < n; i++)
        add_work(f, f->work, (struct decision){ values[i], e });
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
        flip_run_decide(f, fr, work);
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

static void run_in_flip(struct flip *f, struct work *work)
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
        flip_decide_pointer(f, pointer_at_hand(f, fr, &fr->f->code->insts[fr->pc]));
        if (!f->joined)
            f->path.joined = (uint32_t)f->path.nevents;
        r = exec(w, f->t, fr, &n);
        if (r == GO_WAIT)
            await(f, work);
        else if (r != GO_ON)
            flip_stop(f, FLIP_VALUE);
    }
}

/* ---- one flip ---- */

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
    flip_take_branch(f, &s);
    good = f->path.nconditions && flip_is_followed(f, f->path.conditions[0].value);
    if (good)
        go_to(f->w, f->t, fr,
              (uint32_t)c->extras[inst->extra + (inst->op == I_BRANCH ? !outcome : outcome)]);
    free(cases);
    return good;
}

/* What the recorded thread's next event would need: that its last branch goes as it did, and that
 * what is fixed since stays. */
static bool keep_pending(struct flip *f)
{
    const struct thread *t = f->t;
    u128 v;

    for (unsigned i = 0; i < t->npending; i++) {
        const struct pending *p = &t->pending[i];

        if (!flip_value(f, p->e, &v) || v != p->recorded || !flip_is_followed(f, p->e) ||
            f->made_up)
            return false;
        flip_condition(f, p->is_branch ? CONDITION_BRANCH : CONDITION_FIXED, p->e, p->recorded);
    }
    return true;
}

/* The instruction uses another value. */
static bool turn_value(struct flip *f, expr e, u128 value)
{
    *times_decided(f, &f->t->frames[f->t->depth - 1]) = 1;
    f->path.by_value = true;
    if (!flip_assume(f, e, value) || !flip_is_followed(f, e) || f->made_up || !keep_pending(f))
        return false;
    flip_condition(f, CONDITION_FIXED, e, value);
    return true;
}

static void explore(struct flip *first, struct decision d)
{
    struct work work = { .paths = 0 };
    struct flip *f = first;
    struct walk *w = f->w;
    struct flips *all = f->all;
    struct memory saved = w->memory;

    f->memory.below = &saved;
    f->work = &work;
    w->memory = f->memory;
    w->flip = f;
    if (d.pointer ? !turn_value(f, d.pointer, d.outcome) : !turn(f, d.outcome)) {
        flip_stop(f, FLIP_VALUE);
        f->path.nevents = 0;
    }
    for (;;) {
        run_in_flip(f, &work);
        f->memory = w->memory;
        flip_keep(f);
        flip_free(f);
        if (!work.count || ++work.paths >= FLIP_PATHS_MAX)
            break;
        f = take_out(&work, extreme(&work, work.paths % 2), &d);
        w->memory = f->memory;
        w->flip = f;
        w->options.arg = w->options.private_arg = f;
        if (!d.pointer)
            feed_branch(f, d.outcome);
    }
    for (; work.count; all->stats.dropped++)
        flip_free(work.waiting[--work.count]);
    w->memory = saved;
    w->flip = NULL;
}

/* Executes it in the place of the walk. */
static void instead(struct flip *f, struct walk *w, struct decision d)
{
    struct walk_options options = w->options;
    struct walk_stats stats = w->stats;

    w->options = (struct walk_options){ .step = flip_take_step,
                                        .arg = f,
                                        .is_private = flip_is_private,
                                        .private_arg = f,
                                        .keep_all = options.keep_all };
    f->started = w->stats.instructions;
    f->all->stats.tried++;
    explore(f, d);
    w->options = options;
    w->stats = stats;
}

void flip_explore(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                  uint64_t outcome, bool never, bool here_never)
{
    struct flip *f = flip_new(all, w, t, position, outcome);

    f->path.never = never;
    f->path.here_never = here_never;
    instead(f, w, (struct decision){ .outcome = outcome });
}

void flip_explore_value(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                        expr e, u128 value)
{
    struct flip *f = flip_new(all, w, t, position, (uint64_t)value);

    f->path.here_never = true;
    instead(f, w, (struct decision){ (uint64_t)value, e });
}
