/* signal.c - handlers: put off while the runtime is at work, and ordered
 *
 * Every handler the program installs is entered through ours, which the kernel
 * calls with the program's mask and flags (and SA_SIGINFO); the program's own is
 * kept in a table and is what sigaction() tells the program.
 *
 * A signal that comes while the thread is busy is sent again, to this thread,
 * and the interrupted code goes on with all signals blocked that can wait. When
 * it stops being busy it takes its mask back, and the kernel delivers the signal
 * as if it came only now, with the right stack, mask and context. Signals that
 * cannot wait, a fault of the interrupted instruction itself, make the runtime
 * let go of what it holds; their handler runs at once.
 *
 * Edges: installing a handler and sending a signal (signal_send.c) happen before
 * it runs.
 * Limits: a handler may be seen with another's mask while a second thread
 * replaces it, and a signal that was put off may find the new one. One put off
 * under SA_RESETHAND has its handler installed again until it is delivered.
 * rt_sigaction() by system call is not seen: such handlers run at any time, and
 * nothing of them is recorded while busy.
 */
#include "runtime/interpose/interpose.h"

#include <ucontext.h>

/* The kernel's signal set: one word, also the start of a sigset_t. */
typedef uint64_t mask_word;
#define BIT(sig) (UINT64_C(1) << ((sig) - 1))
/* Faults: blocking them would kill the program. */
#define FAULTS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS))

#define MAY_WAIT ~(FAULTS | BIT(SIGKILL) | BIT(SIGSTOP))

typedef void (*handler_fn)(int, siginfo_t *, void *);

/* What the program asked for. Written under actions_lock, the handler read without. */
static struct sigaction actions[SIGNALS];
static bool interrupts[SIGNALS]; /* siginterrupt(sig, 1): signal() makes no SA_RESTART */
struct rt_lock actions_lock;

/* In a sandbox signals cannot be sent again, nor blocked: they wait here. */
enum { PENDING_IN_KERNEL = 1, PENDING_HERE = 2, WAITING_MAX = 4 };
enum { SLOT_FREE, SLOT_USED, SLOT_TAKEN };
_Thread_local uint32_t rt_signals_pending __attribute__((tls_model("initial-exec")));
static _Thread_local struct waiting {
    uint32_t slot; /* handlers come in between: from used to taken by one of them alone */
    int sig;
    siginfo_t info;
    greg_t rip;
} waiting[WAITING_MAX] __attribute__((tls_model("initial-exec")));
static _Thread_local mask_word mask_before __attribute__((tls_model("initial-exec")));
_Thread_local struct handler_frame *handler_innermost __attribute__((tls_model("initial-exec")));

static void wrapper(int sig, siginfo_t *info, void *context);

/* ---- installing ---- */

static bool is_function(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* Change the table for an action about to be installed; returns what to give to the kernel. */
static struct sigaction wrap(int sig, const struct sigaction *a)
{
    struct sigaction own = *a;

    actions[sig].sa_mask = a->sa_mask;
    actions[sig].sa_flags = a->sa_flags;
    if (!is_function(a))
        return own; /* one that still runs is kept */
    own.sa_flags |= SA_SIGINFO;
    own.sa_sigaction = wrapper;
    __atomic_store_n(&actions[sig].sa_sigaction, a->sa_sigaction, __ATOMIC_RELEASE);
    return own;
}

/* What the program gets to see of an action. */
static void unwrap(struct sigaction *a, const struct sigaction *users)
{
    if (a->sa_sigaction == wrapper)
        a->sa_sigaction = users->sa_sigaction;
    if (!(users->sa_flags & SA_SIGINFO))
        a->sa_flags &= ~SA_SIGINFO;
}

static int change(int sig, const struct sigaction *action, struct sigaction *old, uint64_t where);

INTERPOSE(int, sigaction, int sig, const struct sigaction *restrict action,
          struct sigaction *restrict old)
{
    int r = change(sig, action, old, WHERE_CALLER());

    rt_result(r == 0 ? old : NULL, sizeof(*old), WHERE_CALLER());
    return r;
}

static int change(int sig, const struct sigaction *action, struct sigaction *old, uint64_t where)
{
    struct sigaction new, own, was, users;
    int r;

    if (sig <= 0 || sig >= SIGNALS)
        return REAL(sigaction)(sig, action, old);
    if (action) {
        new = *action;
        signal_to_all(sig, where);
    }
    rt_lock_take(&actions_lock);
    users = actions[sig];
    if (action)
        own = wrap(sig, &new);
    r = REAL(sigaction)(sig, action ? &own : NULL, &was);
    if (r)
        actions[sig] = users;
    rt_lock_drop(&actions_lock);
    if (r == 0 && old) {
        unwrap(&was, &users);
        *old = was;
    }
    return r;
}

/* Where the signal would end the process: tell `note` first, once. The program is not told. */
void signal_note_once(int sig, void (*note)(int sig, siginfo_t *info, void *context));
void signal_note_once(int sig, void (*note)(int sig, siginfo_t *info, void *context))
{
    struct sigaction now, own = { .sa_flags = SA_SIGINFO | (int)SA_RESETHAND | SA_ONSTACK };

    own.sa_sigaction = note;
    rt_lock_take(&actions_lock);
    if (!REAL(sigaction)(sig, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == SIG_DFL)
        REAL(sigaction)(sig, &own, NULL);
    rt_lock_drop(&actions_lock);
}

/* The older functions, as glibc makes them of sigaction(). */
static sighandler_t install(int sig, sighandler_t handler, int flags, bool block, uint64_t where)
{
    struct sigaction a = { .sa_flags = flags }, old;

    if (handler == SIG_ERR || sig <= 0 || sig >= SIGNALS) {
        errno = EINVAL;
        return SIG_ERR;
    }
    a.sa_handler = handler;
    if (block)
        sigaddset(&a.sa_mask, sig);
    return change(sig, &a, &old, where) ? SIG_ERR : old.sa_handler;
}

static sighandler_t install_bsd(int sig, sighandler_t handler, uint64_t where)
{
    bool interrupt = sig > 0 && sig < SIGNALS && interrupts[sig];

    return install(sig, handler, interrupt ? 0 : SA_RESTART, true, where);
}

REPLACE(sighandler_t, signal, int sig, sighandler_t handler)
{
    return install_bsd(sig, handler, WHERE_CALLER());
}

REPLACE(sighandler_t, bsd_signal, int sig, sighandler_t handler)
{
    return install_bsd(sig, handler, WHERE_CALLER());
}

REPLACE(sighandler_t, ssignal, int sig, sighandler_t handler)
{
    return install_bsd(sig, handler, WHERE_CALLER());
}

REPLACE(sighandler_t, __sysv_signal, int sig, sighandler_t handler)
{
    return install(sig, handler, SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false, WHERE_CALLER());
}

REPLACE(sighandler_t, sysv_signal, int sig, sighandler_t handler)
{
    return install(sig, handler, SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false, WHERE_CALLER());
}

INTERPOSE(int, siginterrupt, int sig, int interrupt)
{
    int r = REAL(siginterrupt)(sig, interrupt);

    if (r == 0)
        interrupts[sig] = interrupt;
    return r;
}

/* Sets or holds; tells the old handler, or that the signal was blocked. */
REPLACE(sighandler_t, sigset, int sig, sighandler_t handler)
{
    sigset_t set = { 0 }, old;
    sighandler_t before = SIG_ERR;
    struct sigaction a;

    if (sig <= 0 || sig >= SIGNALS || handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigaddset(&set, sig);
    if (handler != SIG_HOLD)
        before = install(sig, handler, 0, false, WHERE_CALLER());
    else if (change(sig, NULL, &a, 0) == 0)
        before = a.sa_handler;
    if (before == SIG_ERR ||
        pthread_sigmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &old))
        return SIG_ERR;
    return sigismember(&old, sig) ? SIG_HOLD : before;
}

/* ---- running a handler ---- */

/* The frame that rt_handler_begin() skipped, since the interrupted code may be about to fill it,
 * says meanwhile who called the handler. */
static struct heddle_frame set_frame(handler_fn handler, const ucontext_t *context)
{
    struct heddle_frame *f = &__heddle_tls.shadow[(__heddle_tls.depth - 1) & SHADOW_MASK], was = *f;

    if (__heddle_tls.self)
        *f = (struct heddle_frame){ (uint64_t)context->uc_mcontext.gregs[REG_RIP],
                                    where_inside(*(void **)&handler) };
    return was;
}

static void put_frame_back(struct heddle_frame was)
{
    if (__heddle_tls.self && __heddle_tls.depth)
        __heddle_tls.shadow[(__heddle_tls.depth - 1) & SHADOW_MASK] = was;
}

/* The handler is called with all three arguments, whatever it takes. Reports leave out what begins
 * with __heddle_. */
static void __heddle_run_handler(handler_fn handler, int sig, siginfo_t *info, void *context)
{
    struct handler_frame frame = { .outer = handler_innermost };
    uint64_t where = where_inside(*(void **)&handler);
    struct heddle_frame kept;
    int saved = errno;

    frame.saved = rt_handler_begin();
    kept = set_frame(handler, context);
    handler_innermost = &frame;
    rt_handler_entered((uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], where);
    signal_taken(sig, info->si_code, where);
    if (info->si_code == SI_TIMER)
        rt_sync_number(OP_AFTER, OBJECT_TIMERS, where);
    errno = saved;
    handler(sig, info, context);
    saved = errno;
    handler_innermost = frame.outer;
    put_frame_back(kept);
    rt_handler_end(frame.saved);
    errno = saved;
}

/* Set the thread's mask. */
static void set_mask(mask_word to)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &to, NULL, sizeof(to));
}

static mask_word *mask_in(void *context)
{
    return (mask_word *)(void *)&((ucontext_t *)context)->uc_sigmask;
}

static bool is_fault(int sig, const siginfo_t *info)
{
    return FAULTS & BIT(sig) && info->si_code > 0;
}

/* The runtime's own instruction faulted: a bad address of the program's. The handler sees the
 * mask as it should be, and may leave by longjmp; if it returns, the instruction is tried again. */
static void run_fault_handler(handler_fn handler, int sig, siginfo_t *info, void *context)
{
    uint32_t busy = __heddle_tls.busy;
    uint64_t held = rt_held();
    mask_word users;

    rt_release_all();
    if (rt_signals_pending & PENDING_IN_KERNEL) {
        rt_signals_pending &= ~(uint32_t)PENDING_IN_KERNEL;
        users = *(mask_word *)(void *)&actions[sig].sa_mask;
        *mask_in(context) = mask_before;
        set_mask(mask_before | users | (actions[sig].sa_flags & SA_NODEFER ? 0 : BIT(sig)));
    }
    __heddle_tls.busy = 0;
    __heddle_run_handler(handler, sig, info, context);
    __heddle_tls.busy = busy;
    rt_hold_again(held);
}

/* The kernel took the handler away when it delivered the signal. */
static void install_again(int sig)
{
    struct sigaction now, own;

    if (!REAL(sigaction)(sig, NULL, &now) && now.sa_handler == SIG_DFL) {
        own = actions[sig];
        own.sa_flags |= SA_SIGINFO;
        own.sa_sigaction = wrapper;
        REAL(sigaction)(sig, &own, NULL);
    }
}

/* False: no room. */
static bool keep_waiting(int sig, const siginfo_t *info, const ucontext_t *context)
{
    for (struct waiting *w = waiting; w < waiting + WAITING_MAX; w++) {
        if (w->slot != SLOT_FREE)
            continue;
        w->slot = SLOT_TAKEN;
        w->sig = sig;
        w->info = *info;
        w->rip = context->uc_mcontext.gregs[REG_RIP];
        __atomic_store_n(&w->slot, SLOT_USED, __ATOMIC_RELEASE);
        rt_signals_pending |= PENDING_HERE;
        return true;
    }
    return false;
}

/* The handlers see of what was interrupted only where it was. */
static void run_waiting(void)
{
    for (struct waiting *w = waiting; w < waiting + WAITING_MAX; w++) {
        ucontext_t context = { 0 };
        uint32_t used = SLOT_USED;
        siginfo_t info;
        int sig;

        if (!__atomic_compare_exchange_n(&w->slot, &used, SLOT_TAKEN, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        context.uc_mcontext.gregs[REG_RIP] = w->rip;
        info = w->info;
        sig = w->sig;
        __atomic_store_n(&w->slot, SLOT_FREE, __ATOMIC_RELEASE);
        __heddle_run_handler(__atomic_load_n(&actions[sig].sa_sigaction, __ATOMIC_ACQUIRE), sig,
                             &info, &context);
    }
}

static void put_off(int sig, siginfo_t *info, void *context)
{
    mask_word *mask = mask_in(context);
    int saved = errno;

    if (unlikely(rt_sandbox)) {
        if (rt_sandbox == SANDBOX_STRICT || !keep_waiting(sig, info, context))
            actions[sig].sa_sigaction(sig, info, context); /* unrecorded: it is inside of us */
        errno = saved;
        return;
    }
    set_mask(~FAULTS | BIT(sig));
    /* This handler may itself have been interrupted here, by one that was put off: the mask to go
     * back to is that of the code further out, unless all is blocked there already. */
    if (!(rt_signals_pending & PENDING_IN_KERNEL) || (*mask & MAY_WAIT) != MAY_WAIT)
        mask_before = *mask;
    if (rt_signals_pending) /* two of a number may become one, with the code of either */
        __atomic_store_n(&signal_codes_lost, true, __ATOMIC_RELAXED);
    rt_signals_pending |= PENDING_IN_KERNEL;
    *mask |= ~FAULTS | BIT(sig);
    if (actions[sig].sa_flags & SA_RESETHAND)
        install_again(sig);
    /* Not own_tid(): the thread may hold any lock here. */
    if (syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), sig,
                info)) { /* the queue is full */
        __atomic_store_n(&signal_codes_lost, true, __ATOMIC_RELAXED);
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
    }
    errno = saved;
}

static void wrapper(int sig, siginfo_t *info, void *context)
{
    handler_fn handler = __atomic_load_n(&actions[sig].sa_sigaction, __ATOMIC_ACQUIRE);

    if (likely(!__heddle_tls.busy))
        __heddle_run_handler(handler, sig, info, context);
    else if (is_fault(sig, info))
        run_fault_handler(handler, sig, info, context);
    else
        put_off(sig, info, context);
}

/* The thread has just stopped being busy. */
void rt_signals_run_pending(void)
{
    uint32_t pending = rt_signals_pending;
    int saved = errno;

    rt_signals_pending = 0;
    if (pending & PENDING_IN_KERNEL) /* here they come, also where a sandbox is about to begin */
        rt_call_kernel(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask_before, 0, sizeof(mask_before),
                       0, 0);
    if (pending & PENDING_HERE)
        run_waiting();
    errno = saved;
}

bool handlers_run(void);
bool handlers_run(void)
{
    return handler_innermost != NULL;
}

/* Signals that wait are the parent's, and so are the chunks that handlers have left waiting. */
void signals_forked(void)
{
    for (struct handler_frame *f = handler_innermost; f; f = f->outer)
        f->saved = NULL;
    if (rt_signals_pending)
        rt_signals_run_pending();
}

/* Handlers may call these first: look them up while nothing is interrupted. */
static __attribute__((constructor)) void look_up(void)
{
    (void)REAL(sigaction);
}
