/* pthread_thread.c - threads: create, join, detach, names, and how they end
 *
 * Threads of the trace have numbers, never used twice; pthread_t is reused as
 * soon as a thread is joined. A table maps one to the other. Its entry is made
 * before the thread exists, gets the pthread_t from whoever comes first, creator
 * or child, and leaves the table when the thread is joined, or has ended and is
 * detached. Entries are counted: creator, child and table hold one each.
 *
 * A thread ends, for the trace, in the last round of destructors of thread-
 * specific data: so destructors of C++ thread_local objects and of other keys
 * are still recorded, however the thread ends (return, exit, cancel). Cancelled
 * asynchronously, it may have been inside the runtime, and lets go of that.
 *
 * Signals are blocked while a thread is created, and in the child until it has
 * begun, so that no handler of the child records before that. What the C library
 * frees meanwhile is no event: it is the thread-local memory of a thread that has
 * ended, maybe a detached one, whose stack is used again.
 *
 * Concurrency: the table is under threads_lock. Memory comes from pages of our
 * own, not from malloc.
 * Limits: who reads the pthread_t from memory that pthread_create() filled, and
 * joins, before creator and child got any further, is looked up after its join.
 */
#include "runtime/untraced/hidden.h"
#include "runtime/core/ignore.h"
#include "runtime/interpose/interpose.h"
#include "runtime/untraced/objects.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>

struct thread_entry {
    struct thread_entry *next; /* in its bucket, or in the list of spare ones */
    pthread_t id;
    void *start, *arg;
    size_t stack_bytes; /* asked for; known in a sandbox only */
    sigset_t mask;      /* of the creator, to be the child's */
    uint32_t number;
    uint16_t holders;
    uint8_t rounds; /* of destructors it has seen */
    bool listed, named, detached, ended, has_mask;
    bool hidden; /* run by untraced code: hidden.h */
};

enum {
    BUCKETS = 4096,
    SLAB_BYTES = 1 << 16,
    LAST_ROUND = 4 /* glibc's PTHREAD_DESTRUCTOR_ITERATIONS */
};

struct rt_lock threads_lock;
static struct thread_entry *buckets[BUCKETS], *spare; /* under threads_lock */

static _Thread_local struct thread_entry *own __attribute__((tls_model("initial-exec")));

/* ---- entries; all under threads_lock ---- */

static void add_spare(void)
{
    struct thread_entry *e = rt_pages(SLAB_BYTES);

    for (size_t i = 0; e && i < SLAB_BYTES / sizeof(*e); i++) {
        e[i].next = spare;
        spare = &e[i];
    }
}

static struct thread_entry *entry_new(uint32_t number)
{
    struct thread_entry *e;

    if (!spare)
        add_spare();
    e = spare;
    if (!e)
        return NULL;
    spare = e->next;
    *e = (struct thread_entry){ .number = number };
    return e;
}

static void entry_put(struct thread_entry *e)
{
    if (--e->holders)
        return;
    e->next = spare;
    spare = e;
}

/* The descriptor is at a multiple of 64, mostly at the same place in its page. */
static struct thread_entry **bucket_of(pthread_t id)
{
    return &buckets[((uint64_t)id >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

static struct thread_entry *find(pthread_t id)
{
    struct thread_entry *e = *bucket_of(id);

    while (e && e->id != id)
        e = e->next;
    return e;
}

static void unlist(struct thread_entry *e)
{
    struct thread_entry **at = bucket_of(e->id);

    if (!e->listed)
        return;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    e->listed = false;
    entry_put(e);
}

static void list(struct thread_entry *e, pthread_t id)
{
    struct thread_entry *old = find(id), **at = bucket_of(id);

    if (old)
        unlist(old); /* that thread cannot be there any more */
    e->id = id;
    e->named = e->listed = true;
    rt_thread_handle(e->number, (uint64_t)id);
    e->holders++;
    e->next = *at;
    *at = e;
}

static void unlist_if_over(struct thread_entry *e)
{
    if (e->detached && e->ended)
        unlist(e);
}

/* ---- the end of a thread ---- */

static pthread_key_t end_key;
static bool has_end_key;

/* Called once per round of destructors. */
static void thread_ends(void *arg)
{
    struct thread_entry *e = arg;

    rt_asleep_end();         /* cancelled in a wait */
    if (__heddle_tls.busy) { /* cancelled in the middle of the runtime */
        rt_release_all();
        __heddle_tls.busy = 0;
    }
    handlers_leave_all();
    if (++e->rounds < LAST_ROUND) {
        rt_busy_begin();
        pthread_setspecific(end_key, e);
        rt_busy_end();
        return;
    }
    mutex_release_robust();
    rt_thread_end();
    own = NULL;
    rt_lock_take(&threads_lock);
    e->ended = true;
    unlist_if_over(e);
    entry_put(e);
    rt_lock_drop(&threads_lock);
}

/* Early, to be one of the first 32, for which setting a value needs no memory. */
static __attribute__((constructor(101))) void make_key(void)
{
    rt_lock_take(&threads_lock);
    if (!has_end_key)
        has_end_key = pthread_key_create(&end_key, thread_ends) == 0;
    rt_lock_drop(&threads_lock);
}

static void watch_end(struct thread_entry *e)
{
    own = e;
    if (unlikely(!has_end_key)) /* another constructor came first */
        make_key();
    rt_busy_begin();
    if (has_end_key)
        pthread_setspecific(end_key, e);
    rt_busy_end();
}

/* The main thread, mostly; others may join it. */
void thread_attached(void)
{
    struct thread_entry *e = own;

    if (likely(e && e->listed))
        return;
    rt_lock_take(&threads_lock);
    if (!e && (e = entry_new(0)))
        e->holders = 1;
    if (e) {
        e->number = rt_thread_number();
        list(e, pthread_self());
    }
    rt_lock_drop(&threads_lock);
    if (e && !own)
        watch_end(e);
    rt_sync_number(OP_AFTER, OBJECT_REQUESTS, where_inside(thread_attached)); /* libc's, maybe */
}

/* ---- results ---- */

static bool is_of_interest(const void *p, uint64_t where)
{
    return p && rt_recording() && statics_is_traced((uintptr_t)(where & ~WHERE_PC));
}

void rt_result(const void *p, size_t bytes, uint64_t where)
{
    if (is_of_interest(p, where))
        rt_wrote(p, bytes, where);
}

void rt_result_ahead(const void *p, size_t bytes, uint64_t where)
{
    if (is_of_interest(p, where))
        rt_write(p, bytes, where);
}

/* ---- creating ---- */

static size_t stack_size(const pthread_attr_t *attr)
{
    pthread_attr_t usual;
    size_t bytes = 0;

    if (attr)
        pthread_attr_getstacksize(attr, &bytes);
    if (!bytes && !pthread_getattr_default_np(&usual)) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes;
}

static void look_at(struct thread_entry *e, const pthread_attr_t *attr)
{
    int state = PTHREAD_CREATE_JOINABLE;
    sigset_t mask;

    e->has_mask = true;
    e->stack_bytes = rt_sandbox ? stack_size(attr) : 0;
    if (!attr)
        return;
    pthread_attr_getdetachstate(attr, &state);
    e->detached = state == PTHREAD_CREATE_DETACHED;
    e->has_mask = pthread_attr_getsigmask_np(attr, &mask) == PTHREAD_ATTR_NO_SIGMASK_NP;
}

struct thread_entry *thread_prepare(void *start, void *arg, const pthread_attr_t *attr,
                                    uint64_t where)
{
    struct thread_entry *e;
    sigset_t all;

    sandbox_has_threads();
    if (!rt_watching())
        return NULL;
    thread_attached();
    rt_lock_take(&threads_lock);
    e = entry_new(THREAD_NONE);
    rt_lock_drop(&threads_lock);
    if (!e)
        return NULL;
    e->holders = 2; /* creator and child */
    e->start = start;
    e->arg = arg;
    e->hidden = hidden_thread_created(start, where);
    e->number = rt_thread_fork(where);
    look_at(e, attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &e->mask);
    ignore_begin();
    return e;
}

void thread_created(struct thread_entry *e, const pthread_t *thread)
{
    sigset_t mask = e->mask;

    ignore_end();
    rt_lock_take(&threads_lock);
    if (!e->named) /* then the child did not run yet, and *thread is certainly there */
        list(e, *thread);
    unlist_if_over(e);
    entry_put(e);
    rt_lock_drop(&threads_lock);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void thread_failed(struct thread_entry *e)
{
    sigset_t mask = e->mask;

    ignore_end();
    rt_thread_failed(e->number);
    rt_lock_take(&threads_lock);
    e->holders = 1;
    entry_put(e);
    rt_lock_drop(&threads_lock);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void *thread_enter(struct thread_entry *e, void **arg)
{
    *arg = e->arg;
    rt_stack_asked = e->stack_bytes;
    rt_thread_begin(e->number);
    rt_lock_take(&threads_lock);
    if (!e->named)
        list(e, pthread_self());
    rt_lock_drop(&threads_lock);
    watch_end(e);
    if (e->hidden) {
        hidden_thread_begins();
        rt_life(RING_HIDDEN, true);
    }
    if (e->has_mask)
        pthread_sigmask(SIG_SETMASK, &e->mask, NULL);
    return e->start;
}

static void *run(void *entry)
{
    void *arg, *(*start)(void *);

    *(void **)&start = thread_enter(entry, &arg);
    return start(arg);
}

INTERPOSE(int, pthread_create, pthread_t *restrict thread, const pthread_attr_t *restrict attr,
          void *(*start)(void *), void *restrict arg)
{
    struct thread_entry *e;
    int r;

    rt_result_ahead(thread, sizeof(*thread),
                    WHERE_CALLER()); /* glibc writes it before the child runs */
    e = thread_prepare(*(void **)&start, arg, attr, WHERE_CALLER());
    if (!e)
        return REAL(pthread_create)(thread, attr, start, arg);
    r = REAL(pthread_create)(thread, attr, run, e);
    if (r)
        thread_failed(e);
    else
        thread_created(e, thread);
    return r;
}

/* ---- joining and detaching ---- */

uint32_t thread_number_of(pthread_t thread)
{
    struct thread_entry *e;
    uint32_t number;

    rt_lock_take(&threads_lock);
    e = find(thread);
    number = e ? e->number : THREAD_NONE;
    rt_lock_drop(&threads_lock);
    return number;
}

void thread_joined(pthread_t thread, uint32_t number, uint64_t where)
{
    struct thread_entry *e;

    rt_lock_take(&threads_lock);
    e = find(thread);
    if (e && number == THREAD_NONE)
        number = e->number;
    if (e && e->number == number)
        unlist(e);
    rt_lock_drop(&threads_lock);
    if (number != THREAD_NONE)
        rt_thread_join(number, where);
}

void thread_detaches(pthread_t thread)
{
    struct thread_entry *e;

    rt_lock_take(&threads_lock);
    e = find(thread);
    if (e) {
        e->detached = true;
        unlist_if_over(e);
    }
    rt_lock_drop(&threads_lock);
}

void threads_forked(void)
{
    for (int i = 0; i < BUCKETS; i++)
        while (buckets[i])
            unlist(buckets[i]);
}

INTERPOSE(int, pthread_join, pthread_t thread, void **result)
{
    uint32_t number = thread_number_of(thread);
    int r;

    if (explore_is_ours())
        explore_join(number, WHERE_CALLER());
    rt_asleep_begin();
    r = REAL(pthread_join)(thread, result);
    rt_asleep_end();

    if (r == 0)
        thread_joined(thread, number, WHERE_CALLER());
    rt_result(r == 0 ? result : NULL, sizeof(*result), WHERE_CALLER());
    return r;
}

INTERPOSE(int, pthread_tryjoin_np, pthread_t thread, void **result)
{
    uint32_t number = thread_number_of(thread);
    int r = REAL(pthread_tryjoin_np)(thread, result);

    if (r == 0)
        thread_joined(thread, number, WHERE_CALLER());
    rt_result(r == 0 ? result : NULL, sizeof(*result), WHERE_CALLER());
    return r;
}

INTERPOSE(int, pthread_timedjoin_np, pthread_t thread, void **result, const struct timespec *until)
{
    uint32_t number = thread_number_of(thread);
    int r = REAL(pthread_timedjoin_np)(thread, result, until);

    if (r == 0)
        thread_joined(thread, number, WHERE_CALLER());
    rt_result(r == 0 ? result : NULL, sizeof(*result), WHERE_CALLER());
    return r;
}

INTERPOSE(int, pthread_clockjoin_np, pthread_t thread, void **result, clockid_t clock,
          const struct timespec *until)
{
    uint32_t number = thread_number_of(thread);
    int r = REAL(pthread_clockjoin_np)(thread, result, clock, until);

    if (r == 0)
        thread_joined(thread, number, WHERE_CALLER());
    rt_result(r == 0 ? result : NULL, sizeof(*result), WHERE_CALLER());
    return r;
}

INTERPOSE(int, pthread_detach, pthread_t thread)
{
    thread_detaches(thread);
    return REAL(pthread_detach)(thread);
}

/* ---- names ---- */

INTERPOSE(int, pthread_setname_np, pthread_t thread, const char *name)
{
    int r = REAL(pthread_setname_np)(thread, name);

    if (r == 0 && pthread_equal(thread, pthread_self()))
        rt_thread_name(name);
    else if (r == 0)
        rt_thread_name_of(thread_number_of(thread), name);
    return r;
}

INTERPOSE(int, prctl, int option, ...)
{
    unsigned long a[4];
    uint32_t before = 0;
    va_list args;
    int r;

    va_start(args, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, unsigned long);
    va_end(args);
    if (option == PR_SET_SECCOMP)
        before = sandbox_begins(a[0] == SECCOMP_MODE_STRICT ? SANDBOX_STRICT : SANDBOX_FILTER);
    r = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
    if (r && option == PR_SET_SECCOMP)
        sandbox_failed(before);
    if (r == 0 && option == PR_SET_NAME)
        rt_thread_name((const char *)a[0]);
    return r;
}
