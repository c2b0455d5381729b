/* walk.c - events of a trace to the places in the code that made them
 *
 * Each thread has a stack of frames; the top one runs until it needs an event. An event
 * that the instruction at hand did not make is one of: a frame that enters or leaves
 * unexpectedly (exec_calls.c); an event of code without bitcode, which passes by; or a sign
 * that the walk lost its way: it is counted, and the walk goes on where the next event
 * of the function shows it to be, with nothing known but the function's variables.
 */
#include "execution/exec_inside.h"
#include "base/alloc.h"
#include "execution/flip.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMPLAINTS_MAX = 50,
    COLLECT_FIRST = 4 << 20 /* nodes: 128 MB; afterwards at twice of what lives */
};

/* ---- life ---- */

struct walk *walk_new(struct program *p, const struct walk_options *options)
{
    struct walk *w = xcalloc(1, sizeof(*w));

    w->p = p;
    w->options = *options;
    w->collect_at = COLLECT_FIRST;
    exprs_init(&w->x);
    return w;
}

void thread_free(struct thread *t)
{
    if (!t)
        return;
    free(t->frames);
    free(t->slots);
    private_stack_release(&t->stack);
    map_release(&t->tls);
    map_release(&t->locals);
    free(t);
}

/* Addresses and constants that modules keep are this walk's. */
static void forget_values(struct program *p)
{
    for (size_t i = 0; i < p->tables->nmodules; i++) {
        struct module *m = &p->modules[i];

        if (m->symbols)
            memset(m->symbols, 0, m->symbols_cap * sizeof(*m->symbols));
        for (uint32_t k = 0; k < m->nfunctions; k++)
            if (m->functions[k].code)
                memset(m->functions[k].consts, 0, m->functions[k].code->nconsts * sizeof(expr));
    }
}

void walk_remember(struct walk *w)
{
    u128 at;

    for (size_t i = 0; i < w->p->tables->nmodules; i++) {
        struct module *m = &w->p->modules[i];

        GROW(m->learned, m->learned_cap, m->symbols_cap);
        for (size_t k = 0; k < m->symbols_cap; k++)
            if (m->symbols[k] && expr_value(&w->x, m->symbols[k], &at))
                m->learned[k] = (uint64_t)at;
    }
}

void walk_free(struct walk *w)
{
    if (!w)
        return;
    forget_values(w->p);
    for (size_t i = 0; i < w->nthreads; i++)
        thread_free(w->threads[i]);
    free(w->threads);
    exprs_release(&w->x);
    memory_release(&w->memory);
    intern_release(&w->names);
    free(w->name_address);
    map_release(&w->object_symbol);
    free(w->objects);
    map_release(&w->blocks);
    free(w);
}

struct exprs *walk_exprs(struct walk *w)
{
    return &w->x;
}

const struct walk_stats *walk_stats(const struct walk *w)
{
    return &w->stats;
}

/* ---- what all parts need ---- */

void walk_complain(struct walk *w, const struct thread *t, const char *fmt, ...)
{
    const struct frame *fr = t->depth ? &t->frames[t->depth - 1] : NULL;
    char text[256], line[512];
    va_list args;

    if (!w->options.complain || w->complaints++ >= COMPLAINTS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(line, sizeof(line), "thread %u, event %llu, %s instruction %u: %s", t->number,
             (unsigned long long)t->position, fr && fr->f ? fr->f->code->name : "?",
             fr && fr->f && fr->pc < fr->f->code->ninsts ? fr->f->code->insts[fr->pc].index : 0,
             text);
    w->options.complain(w->options.arg, line);
}

/* ---- what must hold behind the last event ---- */

static void note_pending(struct walk *w, struct thread *t, expr e, bool is_branch, u128 recorded)
{
    u128 v;

    if (!w->options.flips || w->flip || (e && !expr_varies(&w->x, e)))
        return;
    if (!e || t->npending >= PENDING_MAX || (!is_branch && !expr_value(&w->x, e, &v)))
        t->npending = PENDING_MAX + 1;
    else
        t->pending[t->npending++] = (struct pending){ e, is_branch ? recorded : v, is_branch };
}

static void walk_emit(struct walk *w, struct thread *t, struct now *n, struct step *s)
{
    s->position = n->position;
    s->event = n->ev;
    s->thread = t->number;
    t->npending = 0;
    if (s->kind == STEP_BRANCH && w->options.flips && !w->flip)
        note_pending(w, t, step_taken(&w->x, s), true, s->cases ? s->outcome != 0 : s->outcome);
    if (w->options.step)
        w->options.step(w->options.arg, s);
    t->idle = 0;
    n->ev = NULL;
}

void walk_step(struct walk *w, struct thread *t, struct now *n, struct step *s)
{
    w->stats.walked++;
    if (t->depth && s->kind != STEP_OTHER)
        t->frames[t->depth - 1].fresh = false;
    walk_emit(w, t, n, s);
}

void walk_fixed(struct walk *w, struct thread *t, expr e)
{
    struct step s = { .kind = STEP_FIXED, .value = e, .position = t->position };

    if (!expr_varies(&w->x, e))
        return;
    s.thread = t->number;
    w->stats.fixed++;
    note_pending(w, t, e, false, 0);
    if (w->options.step)
        w->options.step(w->options.arg, &s);
}

void walk_other_values(struct walk *w, struct thread *t, const struct now *n, expr e)
{
    if (w->flip && !n->ev) /* where there is an event its address was decided before */
        flip_decide_pointer(w->flip, e);
    else if (w->options.flips && !w->flip)
        flips_value(w->options.flips, w, t, n->ev ? t->before : t->position, e);
}

void walk_check(struct walk *w, struct thread *t, struct walk_tally *tally, const char *what,
                expr e, u128 value)
{
    u128 known, mask = expr_mask(expr_get(&w->x, e)->width);
    struct buf b = { 0 };

    if (w->flip) /* there is no record */
        return;
    if (!expr_value(&w->x, e, &known)) {
        tally->learned++;
        expr_learn(&w->x, e, value);
        return;
    }
    if (known == (value & mask)) {
        tally->right++;
        return;
    }
    tally->wrong++;
    expr_print(&w->x, e, 6, &b);
    walk_complain(w, t, "%s is 0x%llx, computed 0x%llx: %.150s", what, (unsigned long long)value,
                  (unsigned long long)known, b.data);
    buf_release(&b);
}

/* ---- frames ---- */

void walk_push(struct walk *w, struct thread *t, struct function *f)
{
    uint32_t base = (uint32_t)t->nslots, n = f ? f->code->nslots : 0;

    GROW(t->slots, t->slots_cap, base + (size_t)n + 1);
    memset(t->slots + base, 0, n * sizeof(*t->slots));
    t->nslots = base + (size_t)n;
    GROW(t->frames, t->frames_cap, t->depth + 1);
    t->frames[t->depth++] = (struct frame){
        .f = f, .base = base, .top = t->stack.top, .entry = SITE_NONE, .fresh = true
    };
    w->stats.frames++;
}

/* The next frame at these addresses does not see what this one stored. */
static void forget_locals(struct walk *w, const struct thread *t, const struct frame *fr)
{
    const struct code *c = fr->f->code;

    for (uint32_t i = 0; i < fr->f->nlocals; i++) {
        const struct inst *inst = &c->insts[fr->f->locals[i]];
        expr e = t->slots[fr->base + inst->to];
        uint64_t bytes = (uint64_t)c->extras[inst->extra];
        u128 at;

        if (!(c->operands[inst->operand] & CODE_CONST))
            bytes *= 1024; /* of an array whose size varies: most likely all */
        if (e && expr_value(&w->x, e, &at))
            memory_forget(&w->memory, NULL, (uint64_t)at, bytes);
    }
}

void walk_pop(struct walk *w, struct thread *t)
{
    const struct frame *fr = &t->frames[--t->depth];

    if (fr->f && w->options.is_private)
        forget_locals(w, t, fr);

    t->nslots = fr->base;
    t->stack.top = fr->top;
}

/* ---- lost and found ---- */

static void lose(struct walk *w, struct thread *t, const struct now *n)
{
    w->stats.losses++;
    if (n->ev)
        walk_complain(w, t, "lost at %s of site %s (%s)", op_table[n->ev->op].name,
                      tables_location(w->p->tables, n->ev->site),
                      tables_site_function(w->p->tables, n->ev->site)
                          ? tables_site_function(w->p->tables, n->ev->site)
                          : "?");
    else
        walk_complain(w, t, "lost");
    while (t->depth > 1 && t->frames[t->depth - 1].silent)
        walk_pop(w, t);
    t->frames[t->depth - 1].lost = true;
}

static uint32_t block_at(const struct code *c, uint32_t inst)
{
    uint32_t low = 0, high = c->nblocks;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (c->blocks[middle].first <= inst)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_alloca_or_param(const struct code *c, uint32_t slot, const uint8_t *keep)
{
    return slot < c->nslots && keep[slot];
}

/* Values of the last time round are not those of this time. */
static void forget_slots(struct thread *t, const struct frame *fr)
{
    const struct code *c = fr->f->code;
    uint8_t *keep = xcalloc(c->nslots + (size_t)1, 1);

    for (uint32_t i = 0; i < c->nparams; i++)
        memset(keep + c->params[i].slot, 1, c->params[i].lanes);
    for (uint32_t i = 0; i < c->ninsts; i++)
        if (c->insts[i].op == I_ALLOCA)
            keep[c->insts[i].to] = 1;
    for (uint32_t i = 0; i < c->nslots; i++)
        if (!is_alloca_or_param(c, i, keep))
            t->slots[fr->base + i] = 0;
    free(keep);
}

/* The event is in the frame's function: go on there. */
static bool find_again(struct thread *t, struct frame *fr, const struct now *n)
{
    const struct code *c = fr->f ? fr->f->code : NULL;

    if (!c || n->place->module != fr->f->module->number + 1 || n->place->function != fr->f->index ||
        n->place->index >= c->nindices || n->place->kind == SITE_ENTRY)
        return false;
    fr->pc = c->at_index[n->place->index];
    if (fr->pc >= c->ninsts)
        return false;
    fr->block = block_at(c, fr->pc);
    fr->lost = false;
    fr->done = 0;
    fr->told = false;
    fr->read_done = c->insts[fr->pc].op == I_COPY_MEMORY && n->ev->op == OP_WRITE;
    fr->phase = n->ev->op == OP_RETURN   ? PHASE_CALLED
                : n->ev->op == OP_RESULT ? PHASE_RETURNED
                                         : PHASE_NONE;
    forget_slots(t, fr);
    memory_forget(&(struct memory){ 0 }, &t->stack, PRIVATE_BASE + fr->top, t->stack.top - fr->top);
    return true;
}

/* Several static functions have the name that was entered, and it was not this one. */
static bool is_other_entry(struct walk *w, struct thread *t, struct frame *fr, const struct now *n)
{
    struct program *p = w->p;

    if (!fr->fresh || fr->entry == SITE_NONE || !n->place->module)
        return false;
    const uint32_t *last = map_get(&p->entries, p->tables->site_function[fr->entry] - 1);
    for (uint32_t site = last ? *last : SITE_NONE; site != SITE_NONE;
         site = p->next_entry[site] - 1) {
        const struct place *place = program_place(p, site);

        if (place->module == n->place->module && place->function == n->place->function) {
            struct function *f =
                program_function(p, program_module(p, place->module - 1), place->function);
            bool root = fr->root;

            if (!f || !f->code || f == fr->f)
                return false;
            walk_pop(w, t);
            walk_push(w, t, f);
            t->frames[t->depth - 1].root = root;
            t->frames[t->depth - 1].fresh = false;
            return true;
        }
    }
    return false;
}

/* ---- events ---- */

static void pass_by(struct walk *w, struct thread *t, struct now *n, bool lost)
{
    const struct event *ev = n->ev;

    if (lost)
        w->stats.lost++;
    else
        w->stats.outside++;
    if (ev->op == OP_FORK)
        note_fork(w, t, ev);
    if (ev->op == OP_ALLOC || ev->op == OP_FREE)
        memory_forget(&w->memory, NULL, ev->target, ev->value);
    else if (ev->op == OP_WRITE || ev->op == OP_STORE || ev->op == OP_RMW)
        memory_forget(&w->memory, NULL, ev->target, ev->size);
    walk_emit(w, t, n, &(struct step){ .kind = STEP_OTHER });
}

/* Not an event of the instruction at hand. */
static void take_other(struct walk *w, struct thread *t, struct now *n)
{
    struct frame *fr = &t->frames[t->depth - 1];

    if (n->ev->op == OP_ENTER) {
        enter(w, t, n);
    } else if (n->ev->op == OP_EXIT) {
        leave(w, t, n);
    } else if (!n->place->module) {
        if (!fr->lost && fr->f && fr->f->code->insts[fr->pc].op == I_CALL)
            learn_lock(w, t, fr, n->ev);
        pass_by(w, t, n, false);
    } else if (fr->lost) {
        if (n->sought || !find_again(t, fr, n))
            pass_by(w, t, n, fr->f != NULL);
        n->sought = true;
    } else if (is_other_entry(w, t, fr, n)) {
        return;
    } else if (fr->f->code->insts[fr->pc].op == I_CALL && fr->phase != PHASE_UNWOUND &&
               fr->f->code->calls[fr->f->code->extras[fr->f->code->insts[fr->pc].extra]].unwind !=
                   CODE_NONE) {
        land(w, t, fr); /* untraced code threw */
    } else if (n->ev->op == OP_RETURN || n->ev->op == OP_RESULT) {
        pass_by(w, t, n, false); /* of a call that an exception left */
    } else {
        lose(w, t, n);
    }
}

static struct thread *walk_thread_of(struct walk *w, uint32_t number)
{
    GROW(w->threads, w->threads_cap, number + (size_t)1);
    if (number >= w->nthreads)
        w->nthreads = number + (size_t)1;
    if (!w->threads[number]) {
        w->threads[number] = xcalloc(1, sizeof(**w->threads));
        w->threads[number]->number = number;
        w->threads[number]->position = UINT64_MAX;
    }
    return w->threads[number];
}

/* ---- collecting ---- */

static void mark_thread(struct walk *w, struct thread *t)
{
    for (size_t i = 0; i < t->nslots; i++)
        exprs_mark(&w->x, t->slots[i]);
    private_stack_mark(&t->stack, &w->x);
    exprs_mark(&w->x, t->argument);
    for (unsigned i = 0; i < t->npending && i < PENDING_MAX; i++)
        exprs_mark(&w->x, t->pending[i].e);
    for (size_t i = 0; i < t->tls.nslots; i++)
        if (t->tls.slots[i].used)
            exprs_mark(&w->x, t->tls.slots[i].value);
}

static void mark_module(struct walk *w, const struct module *m)
{
    for (size_t i = 0; i < m->symbols_cap; i++)
        exprs_mark(&w->x, m->symbols[i]);
    for (uint32_t k = 0; k < m->nfunctions; k++)
        for (uint32_t i = 0; m->functions[k].code && i < m->functions[k].code->nconsts; i++)
            exprs_mark(&w->x, m->functions[k].consts[i]);
}

static void walk_collect(struct walk *w)
{
    for (size_t i = 0; i < w->nthreads; i++)
        if (w->threads[i])
            mark_thread(w, w->threads[i]);
    for (size_t i = 0; i < w->p->tables->nmodules; i++)
        mark_module(w, &w->p->modules[i]);
    for (uint32_t i = 0; i < w->names.count; i++)
        exprs_mark(&w->x, w->name_address[i]);
    memory_mark(&w->memory, &w->x);
    exprs_sweep(&w->x);
    w->stats.collections++;
    w->collect_at = 2 * w->x.live > COLLECT_FIRST ? 2 * w->x.live : COLLECT_FIRST;
}

/* ---- the way ---- */

void walk_event(struct walk *w, uint64_t position, const struct event *ev)
{
    struct now n = { ev, position, program_place(w->p, ev->site), false };
    struct thread *t = walk_thread_of(w, ev->thread);
    enum go r;

    if (ev->op == OP_FORK && ev->target < UINT32_MAX)
        walk_thread_of(w, (uint32_t)ev->target);
    if (w->options.flips)
        flips_event(w->options.flips, position, ev);
    w->stats.events++;
    t->before = t->position;
    t->position = w->position = position;
    if (w->x.live > w->collect_at && !w->options.keep_all)
        walk_collect(w);
    if (w->x.live > w->stats.nodes_most)
        w->stats.nodes_most = w->x.live;
    for (;;) {
        struct frame *fr = t->depth ? &t->frames[t->depth - 1] : NULL;

        if (!fr && n.ev && ev->op == OP_ENTER)
            enter(w, t, &n);
        else if (!fr && n.ev)
            pass_by(w, t, &n, false);
        if (!fr && !t->depth)
            return;
        if (!fr)
            continue;
        if ((fr->lost || fr->phase == PHASE_UNWOUND) && !n.ev)
            return;
        if (fr->phase == PHASE_UNWOUND && n.ev->op != OP_EXIT &&
            (n.place->module || n.ev->op == OP_ENTER)) {
            land(w, t, fr);
            continue;
        }
        r = fr->lost || fr->phase == PHASE_UNWOUND ? GO_OTHER : exec(w, t, fr, &n);
        if (r == GO_WAIT)
            return;
        if (r == GO_OTHER)
            take_other(w, t, &n);
        else if (r == GO_LOST)
            lose(w, t, &n);
    }
}
