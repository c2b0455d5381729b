/* prod.c - production runs: the control file, the mode in force, and what it is told
 *
 * HEDDLE_RT's key "control" names the file (abi/rt_prod.h). It is mapped when the first image
 * registers; the mode starts when the first image with no-ops does. A thread of our own waits for
 * changes of `generation` and ticks; it is made when the program makes its first thread, so that
 * a program without threads stays one. It has all signals blocked, is busy for ever, and is made by
 * the real pthread_create(): no mode ever hears of it. The C library does, and ends a process whose
 * last thread has ended: so the last of the program's own threads ends ours first, also by
 * syscall(SYS_exit). When the main thread was the last, and made that call in inline assembly, ours
 * learns it from the kernel.
 *
 * Concurrency: modes are told of events by the threads that make them, busy. changed() and tick()
 * are called by our thread, one at a time; start() and images() by whoever loads images.
 */
#include "runtime/interpose/interpose.h"
#include "runtime/production/prod.h"
#include "runtime/core/state.h"
#include "runtime/production/unwind.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const struct rt_mode *rt_mode;
struct prod_control *rt_control;
size_t rt_control_bytes;

enum {
    WATCHER_STACK = 256 << 10, /* the program's thread-local variables are in it, too */
    TICK_NS = 100 * 1000 * 1000,
    ODD_WAIT_MS = 1000 /* for a command that is just writing; it may have been killed there */
};

static const struct rt_mode *chosen; /* becomes rt_mode when there are sites */
static uint64_t started_ns;
static uint32_t threads; /* numbers given */

/* Our thread, under watcher_lock, which its maker and the program's last thread take. */
static uint32_t watcher_lock, watcher_stops;
static bool watcher_exists, watcher_tried;
static pthread_t watcher;

/* The program's threads that we will see ending; some that untraced code made may be missing, which
 * costs no more than our thread. */
static uint32_t living;
enum life { LIFE_UNKNOWN, LIFE_COUNTED, LIFE_OVER };
static _Thread_local enum life own_life __attribute__((tls_model("initial-exec")));

/* Where the kernel writes 0 when the main thread is gone, and what we were told of its end. Both
 * are in its memory, which stays. NULL: nothing to ask, as in a child that another thread made. */
static volatile int *main_tid;
static volatile enum life *main_life;

static _Thread_local uint32_t own_number __attribute__((tls_model("initial-exec"))); /* + 1 */

uint64_t prod_clock_ns(clockid_t clock)
{
    struct timespec t = { 0 };

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t prod_now_ns(void)
{
    return prod_clock_ns(CLOCK_MONOTONIC);
}

/* ---- the control file ---- */

static const struct rt_mode *mode_of(uint32_t kind)
{
    switch (kind) {
    case PROD_CHASE:
        return &mode_chase;
    case PROD_LITEHB:
        return &mode_litehb;
    case PROD_FULLHB:
        return &mode_fullhb;
    case PROD_CAPER:
        return &mode_caper;
    case PROD_ALIAS:
        return &mode_alias;
    case PROD_COUNT:
        return &mode_count;
    default:
        return NULL;
    }
}

static bool map_control(const char *path)
{
    struct stat s;
    void *m = MAP_FAILED;
    int fd = (int)syscall(SYS_open, path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (!fstat(fd, &s) && s.st_size >= (off_t)sizeof(struct prod_control))
        m = (void *)syscall(SYS_mmap, NULL, s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    syscall(SYS_close, fd);
    if (m == MAP_FAILED)
        return false;
    rt_control = m;
    rt_control_bytes = (size_t)s.st_size;
    return !memcmp(rt_control->magic, PROD_MAGIC, 8) && rt_control->version == PROD_VERSION;
}

void prod_start(const char *path)
{
    if (!map_control(path)) {
        rt_say("cannot use the control file '%s'", path);
        rt_control = NULL;
        rt_deaf_to_memory = rt_deaf_to_sync = true;
        return;
    }
    started_ns = prod_now_ns();
    chosen = mode_of(rt_control->mode);
    rt_deaf_to_memory = rt_deaf_to_sync = !chosen;
}

/* The next even generation; what is there if none comes. */
static uint32_t settled_generation(void)
{
    const struct timespec millisecond = { 0, 1000 * 1000 };
    uint32_t g;

    for (unsigned i = 0; i < ODD_WAIT_MS; i++) {
        g = __atomic_load_n(&rt_control->generation, __ATOMIC_ACQUIRE);
        if (!(g & 1))
            break;
        syscall(SYS_nanosleep, &millisecond, NULL);
    }
    return g;
}

/* What this process has taken up; the control file says it of the process that did so last. */
static uint32_t taken_up;

static void take_up(void (*tell)(struct prod_control *c))
{
    uint32_t g = settled_generation();

    tell(rt_control);
    taken_up = g;
    __atomic_store_n(&rt_control->taken_up, g, __ATOMIC_RELEASE);
    syscall(SYS_futex, &rt_control->taken_up, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void note_time(void)
{
    rt_control->ran_ns = prod_now_ns() - started_ns;
}

/* Whether the main thread was the last one, and ended by SYS_exit in inline assembly, which nobody
 * tells. */
static bool main_was_last(void)
{
    volatile int *tid = __atomic_load_n(&main_tid, __ATOMIC_ACQUIRE);

    if (!tid || *tid || !__atomic_exchange_n(&main_tid, NULL, __ATOMIC_ACQ_REL))
        return false;
    return *main_life == LIFE_COUNTED && __atomic_sub_fetch(&living, 1, __ATOMIC_ACQ_REL) == 0;
}

/* No other thread can ask for it. */
static void note_main_thread(void)
{
    int *address = NULL;

    if (syscall(SYS_gettid) != getpid() ||
        syscall(SYS_prctl, PR_GET_TID_ADDRESS, &address, 0L, 0L, 0L) < 0 || !address ||
        *address != getpid())
        return;
    main_tid = address;
    main_life = &own_life;
}

/* Images came: with the first, the mode starts. Several threads may load at a time. */
void prod_images(void)
{
    static uint32_t starting;

    if (!chosen)
        return;
    rt_busy_begin();
    unwind_images();
    patch_index();
    if (rt_mode) {
        if (rt_mode->images)
            rt_mode->images();
    } else if (!__atomic_exchange_n(&starting, 1, __ATOMIC_ACQ_REL)) {
        prod_thread(); /* the main thread is number 0, mostly */
        note_main_thread();
        rt_deaf_to_memory = !chosen->alloc && !chosen->free;
        rt_deaf_to_sync = !chosen->sync;
        take_up(chosen->start);
        __atomic_store_n(&rt_mode, chosen, __ATOMIC_RELEASE);
    }
    rt_busy_end();
}

static __attribute__((destructor)) void end(void)
{
    if (!rt_mode)
        return;
    rt_busy_begin();
    if (rt_mode->end)
        rt_mode->end();
    note_time();
    rt_busy_end();
}

/* ---- our thread ---- */

/* With the code of the main thread, the last number there: the kernel takes the last thread's. */
static void end_like_main(void)
{
    char text[1024];
    int fd = (int)syscall(SYS_open, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof(text) - 1);
    const char *last;

    text[n > 0 ? n : 0] = '\0';
    last = strrchr(text, ' ');
    syscall(SYS_exit, last ? atoi(last) >> 8 & 0xff : 0);
}

static void *prod_watch(void *unused)
{
    struct timespec tick = { 0, TICK_NS };
    uint32_t g;

    (void)unused;
    rt_busy_begin();
    syscall(SYS_prctl, PR_SET_NAME, "heddle");
    __atomic_fetch_sub(&rt_calls_under_way, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&watcher_stops, __ATOMIC_ACQUIRE)) {
        g = __atomic_load_n(&rt_control->generation, __ATOMIC_ACQUIRE);
        if (!(g & 1) && g != taken_up && rt_mode->changed)
            take_up(rt_mode->changed);
        else
            syscall(SYS_futex, &rt_control->generation, FUTEX_WAIT, g, &tick, NULL, 0);
        note_time();
        if (rt_mode->tick)
            rt_mode->tick();
        if (main_was_last())
            end_like_main();
    }
    return NULL;
}

#ifdef HEDDLE_STATIC
extern int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
extern int __real_pthread_join(pthread_t, void **);
#endif

static int real_create(pthread_t *t, const pthread_attr_t *attr, void *(*f)(void *))
{
#ifdef HEDDLE_STATIC
    return __real_pthread_create(t, attr, f, NULL);
#else
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    *(void **)&create = rt_next_definition("pthread_create");
    return create ? create(t, attr, f, NULL) : ENOSYS;
#endif
}

static void real_join(pthread_t t)
{
#ifdef HEDDLE_STATIC
    __real_pthread_join(t, NULL);
#else
    int (*join)(pthread_t, void **);

    *(void **)&join = rt_next_definition("pthread_join");
    if (join)
        join(t, NULL);
#endif
}

/* Under watcher_lock. What the C library does when the thread begins (rseq() and its like) is under
 * way until prod_watch() runs: a sandbox, which may be for all threads, waits for it. */
static bool make_watcher(void)
{
    pthread_attr_t attr;
    sigset_t all, old;
    int r;

    watcher_stops = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, WATCHER_STACK);
    __atomic_fetch_add(&rt_calls_under_way, 1, __ATOMIC_SEQ_CST);
    r = real_create(&watcher, &attr, prod_watch);
    if (r) { /* thread-local variables larger than that stack */
        pthread_attr_setstacksize(&attr, 8 << 20);
        r = real_create(&watcher, &attr, prod_watch);
    }
    if (r)
        __atomic_fetch_sub(&rt_calls_under_way, 1, __ATOMIC_SEQ_CST);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r == 0;
}

static void start_watcher(void)
{
    spin_lock(&watcher_lock);
    if (!watcher_exists && !watcher_tried) {
        watcher_exists = make_watcher();
        watcher_tried = !watcher_exists;
        if (watcher_tried)
            rt_say("cannot make a thread: changes while the program runs are not taken up");
    }
    spin_unlock(&watcher_lock);
}

/* Joined, it is none that the C library counts. */
static void stop_watcher(void)
{
    spin_lock(&watcher_lock);
    if (watcher_exists && !__atomic_load_n(&living, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&watcher_stops, 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &rt_control->generation, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        real_join(watcher);
        watcher_exists = false;
    }
    spin_unlock(&watcher_lock);
}

void prod_forked(void)
{
    watcher_lock = 0;
    watcher_exists = watcher_tried = false;
    living = own_life == LIFE_COUNTED;
    if (main_life != &own_life)
        main_tid = NULL;
    if (rt_mode->forked)
        rt_mode->forked();
}

/* A destructor of thread-specific data may still make threads when we have seen the end. */
static void count_thread(void)
{
    if (own_life != LIFE_UNKNOWN)
        return;
    own_life = LIFE_COUNTED;
    __atomic_add_fetch(&living, 1, __ATOMIC_ACQ_REL);
}

static void discount_thread(void)
{
    (void)main_was_last(); /* it was not, we are still there */
    if (__atomic_sub_fetch(&living, 1, __ATOMIC_ACQ_REL) == 0)
        stop_watcher();
}

/* ---- events ---- */

#define TELL(function, ...)                                                                        \
    do {                                                                                           \
        int saved = errno;                                                                         \
        if (tls.busy || !rt_mode->function)                                                        \
            return;                                                                                \
        rt_busy_begin();                                                                           \
        rt_mode->function(__VA_ARGS__);                                                            \
        rt_busy_end();                                                                             \
        errno = saved;                                                                             \
    } while (0)

void prod_sync(enum op op, uint64_t object)
{
    TELL(sync, op, object);
}

void prod_alloc(uint64_t address, uint64_t bytes)
{
    TELL(alloc, address, bytes);
}

void prod_free(uint64_t address, uint64_t bytes)
{
    TELL(free, address, bytes);
}

/* ---- threads ---- */

static uint32_t new_number(void)
{
    return __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
}

uint32_t prod_thread(void)
{
    if (unlikely(!own_number))
        own_number = new_number() + 1;
    return own_number - 1;
}

uint32_t prod_thread_fork(void)
{
    int saved = errno;
    uint32_t child;

    if (tls.busy)
        return UINT32_MAX;
    rt_busy_begin();
    prod_thread();
    child = new_number();
    count_thread();
    __atomic_add_fetch(&living, 1, __ATOMIC_ACQ_REL); /* the child: it may end before we go on */
    if (rt_mode->thread_fork)
        rt_mode->thread_fork(child);
    start_watcher(); /* after it: caper patches its sites there, cheaper while there is one thread
                      */
    rt_busy_end();
    errno = saved;
    return child;
}

/* The child of prod_thread_fork() was not to be. */
void prod_thread_failed(uint32_t child)
{
    if (child == UINT32_MAX)
        return;
    rt_busy_begin();
    discount_thread();
    rt_busy_end();
}

void prod_thread_begin(uint32_t thread)
{
    uintptr_t low = 0;
    size_t bytes = 0;

    if (thread == UINT32_MAX || tls.busy)
        return;
    rt_busy_begin();
    own_number = thread + 1;
    own_life = LIFE_COUNTED;
    if (rt_mode->thread_begin) {
        rt_own_stack(&low, &bytes);
        rt_mode->thread_begin(thread, low, bytes);
    }
    rt_busy_end();
}

static void tell_end(void)
{
    TELL(thread_end);
}

void prod_thread_end(void)
{
    enum life life = own_life;

    tell_end();
    own_life = LIFE_OVER;
    if (life != LIFE_COUNTED)
        return;
    rt_busy_begin();
    discount_thread();
    rt_busy_end();
}

/* Only our thread hears of it, which must not be the last one: a child of vfork() ends so, too. */
void prod_thread_exit(void)
{
    if (own_life != LIFE_COUNTED || tls.busy || syscall(SYS_gettid) != own_tid())
        return;
    own_life = LIFE_OVER;
    rt_busy_begin();
    discount_thread();
    rt_busy_end();
}

void prod_thread_join(uint32_t thread)
{
    TELL(thread_join, thread);
}
