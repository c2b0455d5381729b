/* production.c - run a program under a control file, and read the numbers of its options */
#include "cmd/production/production.h"
#include "base/alloc.h"
#include "base/seconds.h"
#include "cmd/common.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_MS = 100 };

/* ---- running ---- */

struct watcher {
    pthread_t thread;
    bool running;
    uint32_t stop; /* futex */
    void (*watch)(void *arg);
    void *arg;
};

static void *watch_program(void *arg)
{
    struct watcher *w = arg;
    const struct timespec pause = { .tv_nsec = (long)WATCH_MS * 1000000 };

    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        w->watch(w->arg);
        syscall(SYS_futex, &w->stop, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
    w->watch(w->arg);
    return NULL;
}

/* Signals are the main thread's: it passes them on. */
static void watcher_start(struct watcher *w)
{
    sigset_t all, old;

    if (!w->watch)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->running = pthread_create(&w->thread, NULL, watch_program, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void watcher_stop(struct watcher *w)
{
    if (!w->running)
        return;
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &w->stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(w->thread, NULL);
}

int production_run(struct production *p, char *const argv[], void (*watch)(void *arg), void *arg)
{
    struct watcher w = { .watch = watch, .arg = arg };
    char *changes[3] = { NULL };
    struct launch l;
    double start = seconds_now();
    int code = launch_fork(&l, argv);

    if (code)
        return code;
    p->pid = l.pid;
    p->kind = program_kind_of(argv[0]);
    changes[0] = xasprintf("HEDDLE_RT=record=0\ncontrol=%s\n", p->path);
    changes[1] = launch_preload(p->kind);
    code = launch_go(&l, changes);
    if (code == 0) {
        watcher_start(&w);
        production_sweep(); /* now that the program runs and we have nothing to do */
        p->code = launch_wait(&l);
        watcher_stop(&w);
    }
    p->seconds = seconds_now() - start;
    free(changes[0]);
    free(changes[1]);
    return code;
}

/* ---- numbers ---- */

/* A decimal number with at most six digits behind the point, in millionths; NULL: it is none. */
static const char *parse_millionths(const char *text, uint64_t *out)
{
    uint64_t whole = 0, part = 0, unit = 1000000;
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 9)
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++)
        whole = whole * 10 + (uint64_t)(*text - '0');
    if (*text == '.' && text[1] >= '0' && text[1] <= '9')
        for (text++; *text >= '0' && *text <= '9' && unit > 1; text++) {
            unit /= 10;
            part += (uint64_t)(*text - '0') * unit;
        }
    *out = whole * 1000000 + part;
    return text;
}

bool parse_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "", 1000000 },   { "ns", 1 },         { "us", 1000 },
                  { "ms", 1000000 }, { "s", 1000000000 }, { "min", UINT64_C(60000000000) } };
    uint64_t millionths;
    const char *unit = parse_millionths(text, &millionths);

    for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(unit, units[i].name) == 0 && millionths <= UINT64_C(1000000000000)) {
            *ns = (uint64_t)((unsigned __int128)millionths * units[i].ns / 1000000);
            return true;
        }
    return false;
}

static bool parse_percent(const char *text, uint32_t *ppm)
{
    uint64_t millionths;
    const char *unit = parse_millionths(text, &millionths);

    if (!unit || (*unit && strcmp(unit, "%") != 0) || millionths > UINT64_C(100000000))
        return false;
    *ppm = (uint32_t)(millionths / 100);
    return true;
}

int take_max_overhead(const struct options *o, uint32_t *ppm)
{
    if (parse_percent(o->texts[OPT_MAX_OVERHEAD], ppm))
        return 0;
    return usage_error(o->command, "option '--max-overhead' takes a percentage, not '%s'",
                       o->texts[OPT_MAX_OVERHEAD]);
}

int take_min_time(const struct options *o, uint64_t *ns)
{
    if (parse_duration(o->texts[OPT_MIN_TIME], ns))
        return 0;
    return usage_error(o->command, "option '--min-time' takes a time like '1s', not '%s'",
                       o->texts[OPT_MIN_TIME]);
}

/* ---- what to say ---- */

bool production_says(const struct production *p, const char *program)
{
    const struct prod_control *c = p->control;

    if (!__atomic_load_n(&c->taken_up, __ATOMIC_ACQUIRE) && !c->ran_ns) {
        if (p->kind == PROGRAM_PRODUCTION)
            warn("", "nothing was watched: '%s' ended before it began", program);
        else
            warn("", "nothing was watched: '%s' was not built with 'heddle-cc --production'",
                 program);
        return false;
    }
    if (c->patch_errno) {
        warn("", "nothing was watched: the code of '%s' cannot be changed here: %s", program,
             strerror(c->patch_errno));
        return false;
    }
    if (c->unknown)
        warn("note", "%" PRIu32 " of the sites are in no module that '%s' has loaded", c->unknown,
             program);
    return true;
}
