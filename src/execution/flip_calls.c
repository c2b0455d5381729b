/* flip_calls.c - calls and returns in code that was not executed
 *
 * Functions with bitcode are entered. Of the others only those whose meaning is known are
 * passed: locks (their address must be known, and they must not be held already), fresh
 * memory, output and delays, threads that are created (they have not begun yet), wakes (that
 * wake nobody yet). Everything else ends the path.
 */
#include "execution/flip_inside.h"
#include "base/alloc.h"

#include <string.h>

enum model {
    MODEL_NONE,
    MODEL_LOCK,
    MODEL_LOCK_SHARED,
    MODEL_UNLOCK,
    MODEL_ALLOCATE,
    MODEL_ALLOCATE_ARRAY,
    MODEL_ZERO,   /* nothing that others see, result 0 */
    MODEL_NOTHING /* nothing that others see, the result is not known */
};

static const struct {
    const char *name;
    enum model model;
} models[] = {
    { "pthread_mutex_lock", MODEL_LOCK },
    { "pthread_spin_lock", MODEL_LOCK },
    { "pthread_rwlock_wrlock", MODEL_LOCK },
    { "mtx_lock", MODEL_LOCK },
    { "pthread_rwlock_rdlock", MODEL_LOCK_SHARED },
    { "pthread_mutex_unlock", MODEL_UNLOCK },
    { "pthread_spin_unlock", MODEL_UNLOCK },
    { "pthread_rwlock_unlock", MODEL_UNLOCK },
    { "mtx_unlock", MODEL_UNLOCK },
    { "malloc", MODEL_ALLOCATE },
    { "_Znwm", MODEL_ALLOCATE },
    { "_Znam", MODEL_ALLOCATE },
    { "calloc", MODEL_ALLOCATE_ARRAY },
    { "pthread_create", MODEL_ZERO },
    { "pthread_cond_signal", MODEL_ZERO },
    { "pthread_cond_broadcast", MODEL_ZERO },
    { "sem_post", MODEL_ZERO },
    { "sched_yield", MODEL_ZERO },
    { "usleep", MODEL_NOTHING },
    { "sleep", MODEL_NOTHING },
    { "nanosleep", MODEL_NOTHING },
    { "printf", MODEL_NOTHING },
    { "puts", MODEL_NOTHING },
    { "putchar", MODEL_NOTHING },
    { "fprintf", MODEL_NOTHING },
    { "fputs", MODEL_NOTHING },
    { "fputc", MODEL_NOTHING },
    { "putc", MODEL_NOTHING },
    { "fwrite", MODEL_NOTHING },
    { "fflush", MODEL_NOTHING },
    { "perror", MODEL_NOTHING },
};

static enum model model_of(const struct code_symbol *s)
{
    for (size_t i = 0; s && i < sizeof(models) / sizeof(*models); i++)
        if (strcmp(s->name, models[i].name) == 0)
            return models[i].model;
    return MODEL_NONE;
}

/* The call is over; `result` 0: not known. */
static void pass(struct flip *f, expr result)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct inst *inst = &fr->f->code->insts[fr->pc];

    for (uint32_t i = 0; i < inst->lanes; i++) {
        unsigned width = fr->f->code->widths[inst->to + i];
        bool fits = result && expr_get(&f->w->x, result)->width == width;

        set_slot(f->t, fr, inst->to + i, fits ? result : unknown_value(f->w, width));
    }
    go_past(f->w, f->t, fr);
}

static void pass_number(struct flip *f, uint64_t value)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct inst *inst = &fr->f->code->insts[fr->pc];

    pass(f, inst->lanes == 1 ? expr_const(&f->w->x, fr->f->code->widths[inst->to], value) : 0);
}

/* Of fresh memory: a number that means nothing. */
static void pass_address(struct flip *f, uint64_t at)
{
    expr e = expr_address(&f->w->x, 0, 0);

    expr_set_value(&f->w->x, e, at);
    pass(f, e);
}

/* An argument's value, which must stay as it is. */
static bool flip_calls_number(struct flip *f, uint32_t lane, uint64_t *value)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    expr e = argument(f->w, f->t, fr, lane);
    u128 v;

    if (!e || !flip_value(f, e, &v) || !flip_is_followed(f, e)) {
        flip_stop(f, FLIP_ADDRESS);
        return false;
    }
    if (expr_varies(&f->w->x, e))
        flip_condition(f, CONDITION_FIXED, e, v);
    *value = (uint64_t)v;
    return true;
}

static void lock(struct flip *f, enum model model, uint32_t site)
{
    struct event ev = { .site = site };
    bool shared = model == MODEL_LOCK_SHARED, good;

    if (!flip_calls_number(f, 0, &ev.target))
        return;
    good = model == MODEL_UNLOCK ? flip_unlock(f, ev.target, &shared)
                                 : flip_lock(f, ev.target, shared);
    if (!good || ev.target < 4096) {
        flip_stop(f, FLIP_CALL);
        return;
    }
    ev.op = model == MODEL_UNLOCK ? shared ? OP_RELEASE_SHARED : OP_RELEASE
            : shared              ? OP_ACQUIRE_SHARED
                                  : OP_ACQUIRE;
    if (flip_add(f, &ev))
        pass_number(f, 0);
}

static void allocate(struct flip *f, enum model model)
{
    uint64_t bytes, count = 1;

    if (!flip_calls_number(f, 0, &bytes) ||
        (model == MODEL_ALLOCATE_ARRAY && !flip_calls_number(f, 1, &count)))
        return;
    if (bytes > 1 << 20 || count > 1 << 20)
        flip_stop(f, FLIP_LIMIT);
    else
        pass_address(f, flip_allocate(f->all, bytes * count));
}

static void modelled(struct flip *f, enum model model, uint32_t site)
{
    switch (model) {
    case MODEL_LOCK:
    case MODEL_LOCK_SHARED:
    case MODEL_UNLOCK:
        lock(f, model, site);
        break;
    case MODEL_ALLOCATE:
    case MODEL_ALLOCATE_ARRAY:
        allocate(f, model);
        break;
    case MODEL_ZERO:
        forget_arguments(f->w, f->t, &f->t->frames[f->t->depth - 1]);
        pass_number(f, 0);
        break;
    case MODEL_NOTHING:
        pass(f, 0);
        break;
    default:
        flip_stop(f, FLIP_CALL);
    }
}

static void enter_function(struct flip *f, struct function *callee)
{
    struct event ev = { .op = OP_ENTER, .site = SITE_NONE };

    if (!callee->enters) {
        call_function(f->w, f->t, callee, true);
        return;
    }
    ev.target = flip_function(f->all, callee);
    if (flip_add(f, &ev))
        call_function(f->w, f->t, callee, false);
}

void flip_call(struct flip *f)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    const struct code_call *call = call_of(fr);
    struct function *callee = called_function(f->w, f->t, fr);
    enum model model = callee ? MODEL_NONE : model_of(callee_symbol(f->w, fr));
    unsigned known = EXPECTS(SITE_CALL) | EXPECTS(SITE_LIBC);
    uint32_t site, bytes;
    u128 target;

    if (model != MODEL_NONE)
        known |= EXPECTS(SITE_READ); /* that a lock is used: nothing comes of leaving it out */
    if (call->is_asm || call->returns_twice || fr->f->expects[fr->pc] & ~known) {
        flip_stop(f, FLIP_CALL);
        return;
    }
    if (callee && callee->code->variadic)
        callee = NULL;
    if (!callee) {
        site = flip_site(f->all, fr->f, fr->f->code->insts[fr->pc].index,
                         EXPECTS(SITE_CALL) | EXPECTS(SITE_LIBC), &bytes);
        modelled(f, model, site);
        return;
    }
    if (call->symbol == CODE_NONE &&
        !flip_fix(f, operand_value(f->w, f->t, fr, call->callee), &target))
        return;
    enter_function(f, callee);
}

void flip_return(struct flip *f)
{
    struct frame *fr = &f->t->frames[f->t->depth - 1];
    struct event ev = { .op = OP_EXIT, .site = SITE_NONE };

    if (fr->root || f->t->depth == 1) {
        flip_stop(f, FLIP_OVER);
        return;
    }
    ev.target = flip_function(f->all, fr->f);
    flip_feed(f, &ev, 0);
}
