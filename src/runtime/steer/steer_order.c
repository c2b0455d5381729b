/* steer_order.c - two threads that have met are let go in a given order (heddle confirm --outcomes)
 *
 * The one that is to go first leaves for its access. It has made it when it comes to the runtime
 * again, when it has computed for a moment (its own clock, so that a busy machine makes no
 * difference), when it sleeps, or when it has ended. Only then does the other one go. The first one
 * is held up in turn, where it comes to the runtime next, until the other has made its access: what
 * it read before is old by then.
 *
 * What the machine may do between the parts of one access cannot be had that way. An update that is
 * one call of the runtime (and often one instruction) reads, another thread writes, and the update
 * writes what it makes of the old value: the same end as that of the old value put back before an
 * update that comes second. A read of more than 8 bytes may see half of a write: the other half is
 * put back, and given again once the reader has read. Only where asked for (STEER_MIXED); other
 * threads may see these bytes meanwhile, in case of a half-done write as on the machine.
 *
 * All waits are bounded (WAIT_NS). Where a signal would end the process now and the program does
 * not care, the place is noted first: the crash is what was asked for.
 */
#include "runtime/production/prod.h"
#include "runtime/steer/steer.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    WAIT_NS = 2 * 1000 * 1000 * 1000,
    LOOK_NS = 50 * 1000,
    DONE_NS = 20 * 1000,       /* of computing: an access takes less than one of them */
    FREE_DONE_NS = 200 * 1000, /* the free() behind its hook takes longer */
    BYTES_PER_NS = 1,          /* what functions of libc do to memory, and slower */
    SLEEPS_LOOKS = 20,
    MIXED_MOST = 64,
    WORD = 8,
    NO_CODE = 4096 /* below is none */
};

bool steer_met;

static struct order {
    uint32_t tid[2]; /* by side */
    unsigned first;  /* the side that goes first */
    struct steer_access access[2];
    uint32_t gone[2], done[2]; /* it has left for its access; and made it */
    bool mixed;
    uintptr_t low; /* bytes that both access, at most MIXED_MOST */
    uint64_t bytes;
    uint8_t before[MIXED_MOST], whole[MIXED_MOST];
    uint32_t torn; /* whole[] is to be written back */
} order;

/* ---- the threads ---- */

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* What a thread has computed; UINT64_MAX: it has ended, or that is not known. */
static uint64_t computed_ns(uint32_t tid)
{
    struct timespec t;
    clockid_t clock = (clockid_t)(~tid << 3 | 6); /* of a thread, by its number */

    if (syscall(SYS_clock_gettime, clock, &t))
        return UINT64_MAX;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char *put_number(char *to, uint32_t n)
{
    char digits[10];
    unsigned k = 0;

    do
        digits[k++] = (char)('0' + n % 10);
    while (n /= 10);
    while (k)
        *to++ = digits[--k];
    return to;
}

static bool sleeps(uint32_t tid)
{
    char path[48] = "/proc/thread-self/../", text[128] = "";
    const char *end;
    long fd, n;

    strcpy(put_number(path + strlen(path), tid), "/stat");
    fd = syscall(SYS_open, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = syscall(SYS_read, (int)fd, text, sizeof(text) - 1);
    syscall(SYS_close, (int)fd);
    text[n > 0 ? n : 0] = 0;
    end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

static uint64_t needs_ns(const struct steer_access *a)
{
    return a->op == OP_FREE ? FREE_DONE_NS : DONE_NS + a->bytes * BYTES_PER_NS;
}

static void pause_for_a_moment(void)
{
    const struct timespec moment = { 0, LOOK_NS };
    uint32_t never = 0;

    syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &moment, NULL, 0);
}

/* Until the thread at this side has made its access; false: it took too long. */
static bool wait_for(unsigned side)
{
    uint64_t from = steer_now_ns(), start = 0, now;
    unsigned slept = 0;

    while (!__atomic_load_n(&order.done[side], __ATOMIC_ACQUIRE)) {
        if (steer_now_ns() - from > WAIT_NS)
            return false;
        if (__atomic_load_n(&order.gone[side], __ATOMIC_ACQUIRE)) {
            now = computed_ns(order.tid[side]);
            if (!start)
                start = now;
            if (now == UINT64_MAX || now - start > needs_ns(&order.access[side]))
                break;
            slept = sleeps(order.tid[side]) ? slept + 1 : 0;
            if (slept == SLEEPS_LOOKS)
                break;
        }
        pause_for_a_moment();
    }
    __atomic_store_n(&order.done[side], 1, __ATOMIC_RELEASE);
    return true;
}

static void note(enum steer_values what)
{
    __atomic_fetch_or(&steer_plan->done.values, what, __ATOMIC_RELAXED);
}

/* ---- values that are old, or half old ---- */

static bool copy(void *own, uintptr_t at, uint64_t bytes, long call)
{
    struct iovec here = { own, bytes }, there = { (void *)at, bytes };

    return syscall(call, syscall(SYS_getpid), &here, 1L, &there, 1L, 0L) == (long)bytes;
}

static bool get(void *to, uintptr_t at, uint64_t bytes)
{
    return copy(to, at, bytes, SYS_process_vm_readv);
}

static bool put(const void *from, uintptr_t at, uint64_t bytes)
{
    return copy((void *)(uintptr_t)from, at, bytes, SYS_process_vm_writev);
}

static bool can_be_stale(void)
{
    const struct steer_access *first = &order.access[order.first];

    return order.access[!order.first].update && (steer_is_write(first) || first->update);
}

static bool can_be_torn(void)
{
    const struct steer_access *w = &order.access[order.first], *r = &order.access[!order.first];

    return w->op == OP_WRITE && r->op == OP_READ && !r->update && w->bytes > WORD &&
           r->bytes > WORD && order.bytes > WORD;
}

static void look_at_memory(void)
{
    const struct steer_access *a = &order.access[0], *b = &order.access[1];
    uintptr_t high = a->address + a->bytes < b->address + b->bytes ? a->address + a->bytes
                                                                   : b->address + b->bytes;

    order.low = a->address > b->address ? a->address : b->address;
    order.bytes = high - order.low;
    if (order.bytes <= MIXED_MOST && get(order.before, order.low, order.bytes) &&
        (can_be_stale() || can_be_torn()))
        note(STEER_MIXABLE);
}

/* By the one that goes second, when the other one is done. */
static void mix(void)
{
    uint64_t keep = can_be_stale() ? 0 : WORD;

    if (!(steer_plan->flags & STEER_MIXED) || !(steer_plan->done.values & STEER_MIXABLE) ||
        !get(order.whole, order.low, order.bytes) ||
        !put(order.before + keep, order.low + keep, order.bytes - keep))
        return;
    note(STEER_WAS_MIXED);
    if (keep)
        __atomic_store_n(&order.torn, 1, __ATOMIC_RELEASE);
}

static void make_whole(void)
{
    if (__atomic_exchange_n(&order.torn, 0, __ATOMIC_ACQ_REL))
        put(order.whole + WORD, order.low + WORD, order.bytes - WORD);
}

/* ---- the end of the process ---- */

static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };

/* The handler is gone by now: the instruction is tried again, or the signal sent again. */
static void note_crash(int sig, siginfo_t *info, void *context)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    struct prod_sighting *s = &rt_control->sighting[1];
    uint64_t nobody = 0;
    int saved = errno;

    if (__atomic_compare_exchange_n(&s->count, &nobody, (uint64_t)sig, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        struct prod_hit h = { .pc = (uintptr_t)r[REG_RIP] };

        h.from.pc = h.pc + 1; /* it is behind no call */
        h.from.sp = (uintptr_t)r[REG_RSP];
        h.from.bp = (uintptr_t)r[REG_RBP];
        if (h.pc < NO_CODE && get(&h.from.pc, h.from.sp, sizeof(h.from.pc))) {
            h.pc = h.from.pc - 1; /* a call of nothing: it shows at the call */
            h.from.sp += sizeof(h.from.pc);
        }
        s->pid = rt_control->sighting[0].pid;
        s->side[0].thread = tls.self ? tls.self->number : 0;
        s->side[0].frames = (uint16_t)prod_backtrace(&h, s->side[0].frame, PROD_FRAMES_MAX);
        prod_note_images(s->side[0].frame, s->side[0].frames);
    }
    if (info->si_code <= 0)
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
    errno = saved;
}

static void watch_for_crashes(void)
{
    if (rt_sandbox)
        return;
    for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
        signal_note_once(deadly[i], note_crash);
}

/* ---- the order ---- */

bool steer_order_begin(const struct steer_access *const a[2], const uint32_t tid[2], int made)
{
    uint32_t flags = steer_plan->flags & (STEER_FIRST_GOES | STEER_SECOND_GOES);

    if (!flags)
        return false;
    order = (struct order){ .tid = { tid[0], tid[1] },
                            .first = flags & STEER_FIRST_GOES ? 0 : 1,
                            .access = { *a[0], *a[1] } };
    if (made >= 0 && (unsigned)made != order.first)
        return false;
    if (made >= 0)
        order.gone[made] = order.done[made] = 1;
    else
        look_at_memory();
    steer_plan->done.first = order.first;
    watch_for_crashes();
    __atomic_store_n(&steer_met, true, __ATOMIC_SEQ_CST);
    return true;
}

static void end(void)
{
    make_whole();
    __atomic_store_n(&steer_on, false, __ATOMIC_SEQ_CST);
}

void steer_order_go(unsigned side)
{
    if (!steer_met)
        return;
    if (side != order.first && wait_for(order.first)) {
        note(STEER_ORDERED);
        mix();
    }
    if (side == order.first) {
        steer_lingers = true; /* it comes here before a release, too */
        note(STEER_WENT);
    }
    __atomic_store_n(&order.gone[side], 1, __ATOMIC_RELEASE);
}

/* Then nobody needs to come here any more. */
static bool are_done(void)
{
    return __atomic_load_n(&order.done[0], __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&order.done[1], __ATOMIC_ACQUIRE);
}

void steer_order_passes(void)
{
    uint32_t tid = own_tid();

    for (unsigned side = 0; side < 2; side++)
        if (tid == order.tid[side] && __atomic_load_n(&order.gone[side], __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&order.done[side], 1, __ATOMIC_RELEASE);
            make_whole();
        }
}

void steer_order_again(void)
{
    uint32_t tid = own_tid();
    int saved = errno;

    if (tls.busy)
        return;
    steer_lingers = false;
    if (tid != order.tid[0] && tid != order.tid[1]) {
        if (are_done())
            end();
        return;
    }
    if (tid == order.tid[!order.first]) {
        __atomic_store_n(&order.done[!order.first], 1, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&order.done[order.first], 1, __ATOMIC_RELEASE);
        rt_busy_begin();
        wait_for(!order.first);
        rt_busy_end();
    }
    end();
    errno = saved;
}
