/* exec_calls.c - calls, returns, and frames that come and go unexpectedly
 *
 * Four kinds of calls:
 *   traced       enter and exit events; arguments and results are passed on
 *   silent       defined here, but with nothing to record: walked without events
 *   modelled     libc functions and locks that the runtime stands for: its events have
 *                the call's site, or none; then comes the result
 *   untraced     call, return, result
 * Whatever enters while none of these waits for it is a callback, a signal handler or
 * a thread's first function: a frame of its own whose arguments are not known.
 *
 * Frames that an exception or longjmp leaves end with exit events, too. The frame that
 * catches goes on in the landing pad, if the call was an invoke; else its place is lost
 * until the next event shows it.
 */
#include "execution/exec_inside.h"

#include <string.h>

enum { LANES_FEW = 64 };

const struct code_call *call_of(const struct frame *fr)
{
    const struct code *c = fr->f->code;

    return &c->calls[c->extras[c->insts[fr->pc].extra]];
}

const struct code_symbol *callee_symbol(struct walk *w, const struct frame *fr)
{
    const struct code_call *call = call_of(fr);

    return call->symbol == CODE_NONE ? NULL
                                     : w->p->api->symbol(fr->f->module->bitcode, call->symbol);
}

static bool has_name(const struct code_symbol *s, const char *const *names)
{
    for (size_t i = 0; s && names[i]; i++)
        if (strcmp(s->name, names[i]) == 0)
            return true;
    return false;
}

/* Behind the call. */
void go_past(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct code_call *call = call_of(fr);

    fr->phase = PHASE_NONE;
    fr->told = false;
    w->stats.instructions++;
    if (call->normal != CODE_NONE)
        go_to(w, t, fr, call->normal);
    else
        fr->pc++;
}

static void unknown_result(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct inst *inst = &fr->f->code->insts[fr->pc];

    for (uint32_t i = 0; i < inst->lanes; i++)
        set_slot(t, fr, inst->to + i, unknown_value(w, fr->f->code->widths[inst->to + i]));
}

/* ---- entering ---- */

expr argument(struct walk *w, struct thread *t, struct frame *fr, uint32_t lane)
{
    const struct inst *inst = &fr->f->code->insts[fr->pc];

    if (lane >= inst->noperands)
        return 0;
    return operand_value(w, t, fr, fr->f->code->operands[inst->operand + lane]);
}

/* Code that is not followed does the same, and returns the same, if it is given the same. Said
 * before the first event of the call. */
static void fix_arguments(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct inst *inst = &fr->f->code->insts[fr->pc];

    for (uint32_t i = 0; i < inst->noperands && !fr->told; i++)
        walk_fixed(w, t, operand_value(w, t, fr, fr->f->code->operands[inst->operand + i]));
    fr->told = true;
}

/* A by-value argument is a copy, made by the caller in a way that nothing shows. */
static expr copy_argument(struct walk *w, struct thread *t, const struct function *f,
                          const struct code_param *p, expr from)
{
    uint64_t at, source;

    if (!f->is_private[p->slot]) {
        memory_forget_all(&w->memory); /* the copy is somewhere on the stack */
        return expr_address(&w->x, 0, 0);
    }
    at = private_push(&t->stack, p->byval);
    if (from && private_place(w, t, from, &source))
        memory_copy(&w->memory, &t->stack, at, source, p->byval);
    else if (from) {
        uint64_t known;
        u128 v;
        known = expr_value(&w->x, from, &v) ? (uint64_t)v : 0;
        if (known && w->options.is_private)
            memory_copy(&w->memory, &t->stack, at, known, p->byval);
    }
    return expr_address(&w->x, (uint32_t)((at - PRIVATE_BASE) / 16) + 1, t->number);
}

/* The call of the frame on top enters f. */
void call_function(struct walk *w, struct thread *t, struct function *f, bool silent)
{
    size_t caller = t->depth - 1;
    uint32_t lane = 0;

    t->frames[caller].phase = PHASE_CALLEE;
    walk_push(w, t, f);
    struct frame *new = &t->frames[t->depth - 1];
    new->silent = silent;
    for (uint32_t i = 0; i < f->code->nparams; i++) {
        const struct code_param *p = &f->code->params[i];

        for (uint32_t k = 0; k < p->lanes; k++, lane++) {
            expr e = argument(w, t, &t->frames[caller], lane);
            if (e && expr_get(&w->x, e)->width != f->code->widths[p->slot + k])
                e = 0;
            if (p->byval)
                e = copy_argument(w, t, f, p, e);
            set_slot(t, new, p->slot + k, e);
        }
    }
}

/* The function with that entry; NULL: no code of it. */
static struct function *entered_function(struct walk *w, uint32_t site)
{
    const struct place *place = program_place(w->p, site);
    struct function *f;

    if (!place->module)
        return NULL;
    f = program_function(w->p, program_module(w->p, place->module - 1), place->function);
    return f && f->code ? f : NULL;
}

/* Of those with the name of an enter event, the one that `want` is, else the last. */
static struct function *choose_entered(struct walk *w, const struct event *ev,
                                       const struct function *want, uint32_t *entry)
{
    const uint32_t *last = map_get(&w->p->entries, ev->target);

    *entry = SITE_NONE;
    if (!last)
        return NULL;
    *entry = *last;
    for (uint32_t site = *last;; site = w->p->next_entry[site] - 1) {
        const struct place *place = program_place(w->p, site);

        if (want && place->module == want->module->number + 1 && place->function == want->index) {
            *entry = site;
            break;
        }
        if (!w->p->next_entry[site])
            break;
    }
    return entered_function(w, *entry);
}

/* A frame whose code is not there: its events are outside until it is left. */
static void push_dark(struct walk *w, struct thread *t)
{
    walk_push(w, t, NULL);
    t->frames[t->depth - 1].lost = true;
}

void enter(struct walk *w, struct thread *t, struct now *n)
{
    uint32_t entry;
    struct function *f = choose_entered(w, n->ev, NULL, &entry);
    bool first = t->depth == 0;

    if (!first) /* code that is not seen runs up to here */
        memory_forget_all(&w->memory);

    if (f)
        walk_push(w, t, f);
    else
        push_dark(w, t);
    struct frame *fr = &t->frames[t->depth - 1];
    fr->root = true;
    fr->entry = entry;
    for (uint32_t i = 0; f && i < f->code->nparams; i++) /* they do not change while it runs */
        for (uint32_t k = 0; k < f->code->params[i].lanes; k++)
            operand_value(w, t, fr, f->code->params[i].slot + k);
    if (f && first && t->argument && f->code->nparams &&
        f->code->widths[f->code->params[0].slot] == 64)
        set_slot(t, fr, f->code->params[0].slot, t->argument);
    walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
}

/* ---- leaving ---- */

/* Results of the frame on top to the call that made it. */
static void deliver(struct walk *w, struct thread *t)
{
    struct frame *fr = &t->frames[t->depth - 1];
    const struct inst *ret = &fr->f->code->insts[fr->pc];
    uint32_t n = ret->noperands < LANES_FEW ? ret->noperands : LANES_FEW;
    bool root = fr->root;
    expr results[LANES_FEW];

    for (uint32_t i = 0; i < n; i++)
        results[i] = operand_value(w, t, fr, fr->f->code->operands[ret->operand + i]);
    walk_pop(w, t);
    if (root)
        memory_forget_all(&w->memory); /* what called it goes on, unseen */
    if (root || !t->depth)
        return;
    fr = &t->frames[t->depth - 1];
    if (!fr->f || fr->lost || fr->phase != PHASE_CALLEE)
        return;
    const struct inst *call = &fr->f->code->insts[fr->pc];
    for (uint32_t i = 0; i < call->lanes; i++) {
        unsigned width = fr->f->code->widths[call->to + i];
        bool fits = i < n && expr_get(&w->x, results[i])->width == width;

        set_slot(t, fr, call->to + i, fits ? results[i] : unknown_value(w, width));
    }
    go_past(w, t, fr);
}

enum go exec_return(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    if (!fr->silent) {
        if (!n->ev)
            return GO_WAIT;
        if (n->ev->op != OP_EXIT)
            return GO_OTHER;
        walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
    }
    w->stats.instructions++;
    deliver(w, t);
    return GO_ON;
}

void leave(struct walk *w, struct thread *t, struct now *n)
{
    bool silent = true, root = false;

    while (t->depth && silent) {
        silent = t->frames[t->depth - 1].silent;
        root = t->frames[t->depth - 1].root;
        walk_pop(w, t);
    }
    if (t->depth && !root && t->frames[t->depth - 1].f && !t->frames[t->depth - 1].lost)
        t->frames[t->depth - 1].phase = PHASE_UNWOUND;
    walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
}

void land(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct code_call *call = call_of(fr);

    fr->phase = PHASE_NONE;
    fr->told = false;
    if (call->unwind != CODE_NONE)
        go_to(w, t, fr, call->unwind);
    else
        fr->lost = true;
}

/* ---- results ---- */

static const char *const allocators[] = { "malloc", "calloc",   "realloc", "aligned_alloc", "_Znwm",
                                          "_Znam",  "memalign", "strdup",  "strndup",       NULL };
static const char *const passing[] = { "memcpy",  "memmove", "memset",  "strcpy",
                                       "strncpy", "strcat",  "strncat", NULL };

/* What code without bitcode returned. An allocation's address is the object's identity: it does
 * not change with the schedule. */
static expr result_value(struct walk *w, struct thread *t, struct frame *fr, const struct now *n,
                         unsigned width)
{
    const struct code_symbol *s = callee_symbol(w, fr);
    expr e;

    if (has_name(s, passing)) {
        e = argument(w, t, fr, 0);
        if (e && expr_get(&w->x, e)->width == width) {
            walk_check(w, t, &w->stats.results, "result", e, n->ev->value);
            return e;
        }
    }
    if (has_name(s, allocators))
        return expr_const(&w->x, width, n->ev->value);
    e = expr_result(&w->x, width, n->position);
    expr_set_value(&w->x, e, n->ev->value);
    w->stats.results.learned++;
    return e;
}

/* Integers and pointers only: the record has nothing of others. */
static void take_result(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    const struct code *c = fr->f->code;
    const struct inst *inst = &c->insts[fr->pc];
    struct step s = { .kind = STEP_RESULT };
    static const char *const forks[] = { "fork", "vfork", "_Fork", "clone", NULL };

    w->stats.forked += has_name(callee_symbol(w, fr), forks) && n->ev->value == 0;

    if (inst->lanes == 1 && inst->sub && c->widths[inst->to] <= 64) {
        s.value = result_value(w, t, fr, n, c->widths[inst->to]);
        set_slot(t, fr, inst->to, s.value);
    } else {
        unknown_result(w, t, fr);
    }
    walk_step(w, t, n, &s);
    go_past(w, t, fr);
}

/* ---- modelled functions ---- */

/* Memory functions that we follow, once their accesses are there. */
static void apply_libc(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct code_symbol *s = callee_symbol(w, fr);
    static const char *const copies[] = { "memcpy", "memmove", NULL };
    static const char *const fills[] = { "memset", NULL };
    expr to = argument(w, t, fr, 0), from = argument(w, t, fr, 1), count = argument(w, t, fr, 2);
    u128 a, b, k;

    if (!count || !w->options.is_private || !expr_value(&w->x, to, &a) ||
        !expr_value(&w->x, count, &k) || k == 0 || k > UINT32_MAX ||
        !w->options.is_private(w->options.private_arg, (uint64_t)a, (uint32_t)k))
        return;
    if (has_name(s, copies) && expr_value(&w->x, from, &b)) {
        if (w->options.is_private(w->options.private_arg, (uint64_t)b, (uint32_t)k))
            memory_copy(&w->memory, &t->stack, (uint64_t)a, (uint64_t)b, (uint64_t)k);
        walk_fixed(w, t, count);
    } else if (has_name(s, fills) && k <= 1 << 20) {
        for (uint64_t i = 0; i < (uint64_t)k; i++)
            memory_store(&w->memory, &t->stack, &w->x, (uint64_t)a + i, 1,
                         expr_resize(&w->x, 8, from));
        walk_fixed(w, t, count);
    }
}

/* Functions of threads and locks write through their arguments, which nothing records. */
void forget_arguments(struct walk *w, struct thread *t, struct frame *fr)
{
    static const char *const kinds[] = { "pthread_", "posix_memalign", "sem_", "thrd_",
                                         "mtx_",     "cnd_",           "tss_" };
    enum { OBJECT_BYTES = 128 };
    const struct code_symbol *s = callee_symbol(w, fr);
    u128 at;

    for (size_t i = 0; s && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strncmp(s->name, kinds[i], strlen(kinds[i])) == 0)
            for (uint32_t k = 0; k < fr->f->code->insts[fr->pc].noperands; k++) {
                if (!expr_value(&w->x, argument(w, t, fr, k), &at))
                    memory_forget_all(&w->memory); /* a place that nothing has shown yet */
                else if (at > 4096 && !(at >> 60))
                    memory_forget(&w->memory, NULL, (uint64_t)at, OBJECT_BYTES);
            }
}

/* The event of a lock function tells where the lock is. */
void learn_lock(struct walk *w, struct thread *t, struct frame *fr, const struct event *ev)
{
    static const char *const kinds[] = { "pthread_mutex_", "pthread_spin_", "pthread_rwlock_",
                                         "mtx_" };
    const struct code_symbol *s = callee_symbol(w, fr);
    expr lock = s ? argument(w, t, fr, 0) : 0;
    u128 at;

    for (size_t i = 0; s && lock && op_class_of(ev->op) == CLASS_LOCK && i < 4; i++)
        if (strncmp(s->name, kinds[i], strlen(kinds[i])) == 0 && !expr_value(&w->x, lock, &at))
            expr_learn(&w->x, lock, ev->target);
}

static enum go exec_libc(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    fix_arguments(w, t, fr);
    if (!n->ev)
        return GO_WAIT;
    if (!is_mine(fr, n, fr->f->code->insts[fr->pc].index))
        return GO_OTHER;
    if (n->ev->op == OP_RESULT) {
        apply_libc(w, t, fr);
        forget_arguments(w, t, fr);
        take_result(w, t, fr, n);
        return GO_ON;
    }
    if (n->ev->op == OP_WRITE)
        memory_forget(&w->memory, &t->stack, n->ev->target, n->ev->size);
    learn_lock(w, t, fr, n->ev);
    walk_step(w, t, n,
              &(struct step){ .kind = n->ev->op == OP_READ    ? STEP_READ
                                      : n->ev->op == OP_WRITE ? STEP_WRITE
                                                              : STEP_OTHER });
    return GO_ON;
}

void note_fork(struct walk *w, struct thread *t, const struct event *ev)
{
    static const char *const pthread[] = { "pthread_create", NULL }, *const c11[] = { "thrd_create",
                                                                                      NULL };
    struct frame *fr = t->depth ? &t->frames[t->depth - 1] : NULL;
    const struct code_symbol *s = NULL;
    uint32_t child = (uint32_t)ev->target;

    if (fr && fr->f && !fr->lost && fr->f->code->insts[fr->pc].op == I_CALL)
        s = callee_symbol(w, fr);
    if (child < w->nthreads && w->threads[child] && s)
        w->threads[child]->argument = has_name(s, pthread) ? argument(w, t, fr, 3)
                                      : has_name(s, c11)   ? argument(w, t, fr, 2)
                                                           : 0;
}

/* ---- calls ---- */

/* The function a call names, if it is defined in the same module. */
static struct function *own_callee(struct walk *w, const struct frame *fr)
{
    const struct code_symbol *s = callee_symbol(w, fr);
    struct function *f;

    if (!s || s->function == CODE_NONE || !s->defined)
        return NULL;
    f = program_function(w->p, fr->f->module, s->function);
    return f && f->code ? f : NULL;
}

/* The function that a symbol of a module names, wherever it is defined. */
static struct function *symbol_function(struct walk *w, struct module *m, uint32_t symbol)
{
    const struct code_symbol *s = w->p->api->symbol(m->bitcode, symbol);
    struct function *f = NULL;

    if (s->function != CODE_NONE && s->defined)
        f = program_function(w->p, m, s->function);
    else if (s->function != CODE_NONE)
        f = program_external(w->p, s->name);
    return f && f->code ? f : NULL;
}

/* What a call through a pointer calls: the address of a function, or a number that is one's. */
static struct function *pointed_function(struct walk *w, expr e)
{
    const uint32_t *i = map_get(&w->object_symbol, e);
    struct module *m;
    uint32_t symbol;
    uint64_t start;
    u128 at, v;

    if (!i && !(w->flip ? flip_value(w->flip, e, &at) : expr_value(&w->x, e, &at)))
        return NULL;
    for (size_t k = 0; !i && k < w->names.count; k++)
        if (expr_value(&w->x, w->name_address[k], &v) && v == at)
            i = map_get(&w->object_symbol, w->name_address[k]);
    if (!i && program_object_at(w->p, (uint64_t)at, &m, &symbol, &start) && start == at)
        return symbol_function(w, m, symbol);
    return i ? symbol_function(w, w->objects[*i].module, w->objects[*i].symbol) : NULL;
}

struct function *called_function(struct walk *w, struct thread *t, struct frame *fr)
{
    const struct code_call *call = call_of(fr);

    if (call->is_asm)
        return NULL;
    if (call->symbol != CODE_NONE)
        return symbol_function(w, fr->f->module, call->symbol);
    return pointed_function(w, operand_value(w, t, fr, call->callee));
}

/* The call at hand calls that, and nothing else. */
static void fix_target(struct walk *w, struct thread *t, const struct now *n, expr target)
{
    walk_other_values(w, t, n, target);
    walk_fixed(w, t, target);
}

/* The event enters what the call calls. */
static enum go enter_callee(struct walk *w, struct thread *t, struct frame *fr, struct now *n,
                            struct function *want)
{
    uint32_t entry;
    struct function *f = choose_entered(w, n->ev, want, &entry);
    const struct code_call *call = call_of(fr);
    const struct code_symbol *s = callee_symbol(w, fr);

    if (s && f && strcmp(s->name, f->code->name) != 0 && f != want)
        return GO_OTHER; /* a handler interrupts */
    if (call->symbol == CODE_NONE)
        fix_target(w, t, n, operand_value(w, t, fr, call->callee));
    if (f) {
        call_function(w, t, f, false);
        t->frames[t->depth - 1].entry = entry;
    } else {
        fr->phase = PHASE_CALLEE;
        push_dark(w, t);
    }
    walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
    return GO_ON;
}

/* The code ran, and there is no record of the call: it called traced code that records nothing. */
static enum go exec_silent(struct walk *w, struct thread *t, struct frame *fr, const struct now *n)
{
    const struct code_call *call = call_of(fr);
    struct function *f = called_function(w, t, fr);

    if (call->symbol == CODE_NONE)
        fix_target(w, t, n, operand_value(w, t, fr, call->callee));
    if (f && !f->enters && !f->sited) {
        call_function(w, t, f, true);
        return GO_ON;
    }
    unknown_result(w, t, fr);
    go_past(w, t, fr);
    return GO_ON;
}

/* Is the event one of the thread's own path, behind the call? */
static bool is_behind(struct walk *w, struct thread *t, struct frame *fr, const struct now *n)
{
    struct function *f;
    uint32_t entry;

    if (fr->phase != PHASE_NONE)
        return false;
    if (n->ev->op != OP_ENTER)
        return n->place->module || n->ev->op == OP_EXIT;
    f = called_function(w, t, fr);
    if (f)
        return !f->enters && choose_entered(w, n->ev, f, &entry) != f;
    return callee_symbol(w, fr) &&
           !has_name(callee_symbol(w, fr),
                     (const char *const[]){
                         intern_get(&w->p->tables->functions, (uint32_t)n->ev->target), NULL });
}

static enum go exec_untraced(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    bool mine;

    if (!n->ev)
        return GO_WAIT;
    mine = is_mine(fr, n, fr->f->code->insts[fr->pc].index);
    if (!mine && is_behind(w, t, fr, n))
        return exec_silent(w, t, fr, n);
    if (n->ev->op == OP_ENTER && fr->phase == PHASE_NONE)
        return enter_callee(w, t, fr, n, called_function(w, t, fr));
    if (!mine)
        return GO_OTHER;
    if (n->ev->op == OP_RESULT) {
        take_result(w, t, fr, n);
        return GO_ON;
    }
    if (n->ev->op == OP_CALL) {
        const struct code_call *call = call_of(fr);
        if (call->symbol == CODE_NONE)
            fix_target(w, t, n, operand_value(w, t, fr, call->callee));
        fix_arguments(w, t, fr);
        fr->phase = PHASE_CALLED;
    }
    if (n->ev->op == OP_RETURN) {
        fr->phase = PHASE_RETURNED;
        memory_forget_all(&w->memory); /* it may have written anything */
    }
    walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
    return GO_ON;
}

enum go exec_call(struct walk *w, struct thread *t, struct frame *fr, struct now *n)
{
    unsigned expects = fr->f->expects[fr->pc];
    struct function *f;

    if (++t->idle > 1 << 20)
        return GO_LOST;
    if (w->flip)
        return n->ev ? GO_OTHER : GO_WAIT;
    if (expects & EXPECTS(SITE_LIBC))
        return exec_libc(w, t, fr, n);
    if (expects & EXPECTS(SITE_CALL))
        return exec_untraced(w, t, fr, n);
    if (expects) { /* assembly, libatomic: accesses, then an unknown result */
        fix_arguments(w, t, fr);
        if (!n->ev)
            return GO_WAIT;
        if (is_mine(fr, n, fr->f->code->insts[fr->pc].index)) {
            walk_step(w, t, n, &(struct step){ .kind = STEP_OTHER });
            return GO_ON;
        }
        if (!n->place->module && n->ev->op != OP_ENTER && n->ev->op != OP_EXIT)
            return GO_OTHER;
    }
    f = expects ? NULL : own_callee(w, fr);
    if (f && f->enters) {
        if (!n->ev)
            return GO_WAIT;
        return n->ev->op == OP_ENTER ? enter_callee(w, t, fr, n, f) : GO_OTHER;
    }
    if (f) {
        call_function(w, t, f, true);
        return GO_ON;
    }
    unknown_result(w, t, fr);
    go_past(w, t, fr);
    return GO_ON;
}
