/* context.c - makecontext and swapcontext: a context with a stack of its own is a fiber
 *
 * A fiber is told by its stack: makecontext() says where that is, and the stack
 * pointer in a context says on which stack it goes on, whoever saved it and how
 * often it was copied. What lies on no such stack is the system thread itself.
 * getcontext() returns twice and cannot be interposed; nor need it be. A longjmp() to another
 * stack switches as swapcontext() does.
 *
 * The program's function is called by one of ours, which knows where the thread
 * goes when it returns (uc_link; libc switches there without asking us). A
 * switch orders: what one fiber did happens before what the next one does.
 *
 * Concurrency: the table is under contexts_lock; fibers may move from one
 * system thread to another, so thread-local variables are not kept over a
 * switch.
 * Limits: a context that is given up without finishing stays in the table until
 * its stack is used again; at most ARGS arguments.
 */
#include "runtime/interpose/interpose.h"

#include <stdarg.h>
#include <string.h>
#include <ucontext.h>

enum { ARGS = 24, SLAB_BYTES = 1 << 16 };

struct context {
    uintptr_t low, high; /* its stack */
    struct rt_thread *fiber;
    void (*function)(void);
    ucontext_t *link;
    uint64_t where;
    struct context *next_spare;
    long args[ARGS];
};

struct rt_lock contexts_lock;
/* Under contexts_lock: all contexts by their stack, and memory for more. */
static struct context **contexts, *spare;
static size_t ncontexts, contexts_cap;

/* The system thread's own fiber, while it runs another one. */
static _Thread_local struct rt_thread *thread_fiber __attribute__((tls_model("initial-exec")));

/* ---- the table; under contexts_lock ---- */

static bool table_has_room(void)
{
    size_t cap = contexts_cap ? 2 * contexts_cap : 512;
    struct context **more;

    if (ncontexts < contexts_cap)
        return true;
    more = rt_pages(cap * sizeof(*more));
    if (!more)
        return false;
    if (contexts) {
        memcpy(more, contexts, ncontexts * sizeof(*more));
        syscall(SYS_munmap, contexts, contexts_cap * sizeof(*more));
    }
    contexts = more;
    contexts_cap = cap;
    return true;
}

static struct context *context_new(void)
{
    struct context *c = spare;

    if (!c) {
        c = rt_pages(SLAB_BYTES);
        for (size_t i = 0; c && i < SLAB_BYTES / sizeof(*c); i++) {
            c[i].next_spare = spare;
            spare = &c[i];
        }
    }
    c = spare;
    if (c)
        spare = c->next_spare;
    return c;
}

/* The first context whose stack ends above the address. */
static size_t position(uintptr_t address)
{
    size_t low = 0, high = ncontexts;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (contexts[middle]->high > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct context *find(uintptr_t sp)
{
    size_t i = position(sp);

    return i < ncontexts && contexts[i]->low <= sp ? contexts[i] : NULL;
}

static void take_out(size_t i)
{
    struct context *c = contexts[i];

    rt_fiber_free(c->fiber, c->where);
    c->next_spare = spare;
    spare = c;
    memmove(&contexts[i], &contexts[i + 1], (--ncontexts - i) * sizeof(*contexts));
}

static void remove_context(struct context *c)
{
    size_t i = position(c->low);

    if (i < ncontexts && contexts[i] == c)
        take_out(i);
}

static bool insert(struct context *c)
{
    size_t i = position(c->low);

    while (i < ncontexts && contexts[i]->low < c->high)
        take_out(i); /* given up: its stack is used again */
    if (!table_has_room())
        return false;
    memmove(&contexts[i + 1], &contexts[i], (ncontexts++ - i) * sizeof(*contexts));
    contexts[i] = c;
    return true;
}

/* ---- switching ---- */

static uintptr_t sp_of(const ucontext_t *u)
{
    return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
}

/* The fiber that goes on at a stack address; NULL: not known, stay. */
static struct rt_thread *fiber_at(uintptr_t sp, uint64_t where)
{
    struct rt_thread *f;
    struct context *c;

    rt_lock_take(&contexts_lock);
    c = find(sp);
    f = c ? c->fiber : thread_fiber;
    rt_lock_drop(&contexts_lock);
    if (c && !f && (f = rt_fiber_new(where))) /* after a fork */
        c->fiber = f;
    return f;
}

/* Before the thread goes on at `sp`. Never inlined: the next call may be on another thread. */
static __attribute__((noinline)) void switch_to(uintptr_t sp, uint64_t where)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct rt_thread *current = rt_fiber_current(), *next;
    struct context *c;

    if (!current)
        return;
    rt_lock_take(&contexts_lock);
    c = find(here);
    if (c && c->fiber != current) { /* a thread's stack where a context given up had its own */
        remove_context(c);
        c = NULL;
    }
    rt_lock_drop(&contexts_lock);
    if (!c)
        thread_fiber = current;
    next = fiber_at(sp, where);
    if (next && next != current)
        rt_fiber_switch(next, true, where);
}

static __attribute__((noinline)) struct handler_frame *handlers_now(void)
{
    return handler_innermost;
}

/* Back on this stack: libc or untraced code may have brought us here. */
static __attribute__((noinline)) void arrived(struct rt_thread *as, struct handler_frame *handlers,
                                              uint64_t where)
{
    int saved = errno;

    handler_innermost = handlers;
    if (as && rt_fiber_current() != as)
        rt_fiber_switch(as, true, where);
    errno = saved;
}

INTERPOSE(int, swapcontext, ucontext_t *restrict save, const ucontext_t *restrict go)
{
    uint64_t where = WHERE_CALLER();
    struct rt_thread *self = rt_fiber_current();
    struct handler_frame *handlers = handlers_now();
    int r;

    switch_to(sp_of(go), where);
    r = REAL(swapcontext)(save, go);
    arrived(self, handlers, where);
    return r;
}

INTERPOSE(int, setcontext, const ucontext_t *go)
{
    uint64_t where = WHERE_CALLER();
    struct rt_thread *self = rt_fiber_current();
    struct handler_frame *handlers = handlers_now();
    int r;

    handlers_leave(sp_of(go));
    switch_to(sp_of(go), where);
    r = REAL(setcontext)(go);
    arrived(self, handlers, where); /* it failed */
    return r;
}

/* A jump to another stack switches, too: fibers are begun by swapcontext(), and then switched by
 * setjmp() and longjmp(), which keep no signal mask. */
void contexts_jump(uintptr_t sp, uint64_t where)
{
    if (unlikely(__atomic_load_n(&ncontexts, __ATOMIC_RELAXED)))
        switch_to(sp, where);
}

/* ---- making ---- */

/* The record gives itself up: the thread goes on elsewhere. */
static void finish(struct context *c)
{
    if (!c->link)
        return; /* the thread ends */
    switch_to(sp_of(c->link), c->where);
    rt_lock_take(&contexts_lock);
    remove_context(c);
    rt_lock_drop(&contexts_lock);
}

#define A4(n) a[n], a[n + 1], a[n + 2], a[n + 3]

/* More arguments than the function takes do no harm. */
static void call(void (*function)(void), const long *a)
{
    typedef void fn(long, long, long, long, long, long, long, long, long, long, long, long, long,
                    long, long, long, long, long, long, long, long, long, long, long);

    ((fn *)function)(A4(0), A4(4), A4(8), A4(12), A4(16), A4(20));
}

static void run(unsigned high, unsigned low)
{
    struct context *c = (struct context *)((uintptr_t)high << 32 | low);

    arrived(c->fiber, NULL, c->where);
    call(c->function, c->args);
    finish(c);
}

static struct context *record(const ucontext_t *u, uint64_t where)
{
    struct rt_thread *fiber = rt_fiber_new(where);
    struct context *c = NULL;

    if (!fiber)
        return NULL;
    rt_lock_take(&contexts_lock);
    c = context_new();
    if (c) {
        *c = (struct context){ .fiber = fiber, .link = u->uc_link, .where = where };
        c->low = (uintptr_t)u->uc_stack.ss_sp;
        c->high = c->low + u->uc_stack.ss_size;
        if (!insert(c))
            c = NULL;
    }
    rt_lock_drop(&contexts_lock);
    return c;
}

INTERPOSE(void, makecontext, ucontext_t *u, void (*function)(void), int argc, ...)
{
    struct context *c = argc <= ARGS ? record(u, WHERE_CALLER()) : NULL;
    long a[ARGS] = { 0 };
    va_list args;

    va_start(args, argc);
    for (int i = 0; i < argc && i < ARGS; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (!c) {
        REAL(makecontext)
        (u, function, argc, A4(0), A4(4), A4(8), A4(12), A4(16), A4(20));
        return;
    }
    c->function = function;
    memcpy(c->args, a, sizeof(a));
    REAL(makecontext)
    (u, (void (*)(void))run, 2, (unsigned)((uintptr_t)c >> 32), (unsigned)(uintptr_t)c);
}

/* The states that fibers had are gone; they get new ones when they next run. */
void contexts_forked(void)
{
    for (size_t i = 0; i < ncontexts; i++)
        contexts[i]->fiber = NULL;
    thread_fiber = NULL;
}
