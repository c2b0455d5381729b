/* follow.c - races are told while the program runs */
#include "cmd/follow.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/intern.h"
#include "cmd/noise.h"
#include "engines/live/live.h"
#include "record/control.h"
#include "report/sighting.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_KEPT = 64 };

/* A trace that is being written. */
struct followed {
    struct follow *home;
    char *path;          /* owned */
    struct trace *trace; /* NULL: it cannot be followed */
    struct live *live;
    uint64_t complete;        /* the file is, up to this stamp */
    struct findings findings; /* what was seen last */
    struct intern told;       /* pairs of places */
    struct naming naming;
};

struct follow {
    const char *directory;
    const struct run_list *list;
    struct noise noise;
    struct followed **traces;
    size_t count, cap;
    FILE *out;     /* where they are told */
    size_t told;   /* races */
    long after_ms; /* until following begins */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool over; /* under lock; set once */
};

static bool follow_is_over(struct follow *f)
{
    return __atomic_load_n(&f->over, __ATOMIC_ACQUIRE);
}

/* ---- telling ---- */

static const char *op_of(const struct live_side *s)
{
    if (s->frees)
        return "free";
    if (s->atomic)
        return s->writes ? "atomic write" : "atomic read";
    return s->writes ? "write" : "read";
}

static struct sighted_side side_of(const struct followed *t, const struct live_side *s,
                                   struct history_call calls[CALLS_KEPT])
{
    struct live_frame frames[CALLS_KEPT];
    size_t n = live_calls(t->live, s->context, frames, CALLS_KEPT);
    size_t kept = n < CALLS_KEPT ? n : CALLS_KEPT;

    for (size_t i = 0; i < kept; i++)
        calls[i] = (struct history_call){ frames[i].function, frames[i].site };
    return (struct sighted_side){ s->thread, s->site, op_of(s), calls, kept, n - kept };
}

/* In one piece: the program writes there, too. */
static void follow_tell(const struct finding *r, FILE *to)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    if (to == stderr)
        fputs("heddle: ", out);
    sighting_write(r, out);
    if (fclose(out) == 0)
        fwrite(text, 1, len, to);
    free(text);
}

/* A line that reads and writes has several sites, and is told once. */
static bool is_new(struct followed *t, const struct finding *r)
{
    const char *a = r->sides[0].location, *b = r->sides[1].location;
    uint32_t before = t->told.count;
    struct buf key = { 0 };

    buf_addf(&key, "%s\n%s", strcmp(a, b) < 0 ? a : b, strcmp(a, b) < 0 ? b : a);
    intern_put(&t->told, key.data, key.len);
    buf_release(&key);
    return t->told.count > before;
}

static void found(void *arg, const struct live_race *race)
{
    struct followed *t = arg;
    struct history_call calls[2][CALLS_KEPT];
    struct sighted_side sides[2] = { side_of(t, &race->first, calls[0]),
                                     side_of(t, &race->second, calls[1]) };

    if (t->complete == CONTROL_NEVER && trace_info(t->trace)->calls)
        return;            /* where calls belong is not known: the report will tell */
    t->findings.count = 0; /* each is judged by itself */
    sighting_add(&t->findings, &t->naming, trace_tables(t->trace), sides, race->address);
    noise_apply(&t->home->noise, &t->findings);
    if (t->findings.count && is_new(t, &t->findings.races[0])) {
        follow_tell(&t->findings.races[0], t->home->out);
        t->home->told++;
    }
}

/* ---- following ---- */

static void open_trace(struct followed *t)
{
    struct error err;

    t->trace = trace_open(t->path, &err);
    if (!t->trace)
        return;
    if (trace_follow(t->trace, false) < 0) {
        trace_close(t->trace);
        t->trace = NULL;
        return;
    }
    t->live = live_new(found, t, NULL);
    naming_init(&t->naming, &t->findings, trace_tables(t->trace));
}

static void close_trace(struct followed *t)
{
    if (!t->trace)
        return;
    naming_release(&t->naming);
    live_free(t->live);
    trace_close(t->trace);
    t->trace = NULL;
}

static struct followed *followed_of(struct follow *f, const char *path)
{
    struct followed *t;

    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->traces[i]->path, path) == 0)
            return f->traces[i];
    t = xcalloc(1, sizeof(*t));
    t->home = f;
    t->path = xstrndup(path, strlen(path));
    GROW(f->traces, f->cap, f->count + 1);
    return f->traces[f->count++] = t;
}

/* As far as the file is complete: what calls may order goes by the order of all threads. */
static void read_more(struct followed *t)
{
    uint64_t complete = control_complete(t->path);
    struct error err;
    struct batch b;

    if (complete == CONTROL_NOT_YET)
        return;
    if (complete != CONTROL_NEVER || !t->complete) /* else the writer has just gone */
        t->complete = complete;
    if (!t->trace) {
        open_trace(t);
    } else if (trace_follow(t->trace, false) < 0) { /* --last: it was dropped before it was read */
        close_trace(t);
        open_trace(t);
    }
    if (t->trace)
        trace_limit(t->trace, t->complete == CONTROL_NEVER ? UINT64_MAX : t->complete);
    while (t->trace && !follow_is_over(t->home) && trace_next(t->trace, &b, &err) > 0)
        live_batch(t->live, &b);
}

static void follow_look(struct follow *f)
{
    struct tracedir d = { 0 };

    if (tracedir_read(&d, f->directory) < 0)
        return;
    run_list_select(f->list, &d);
    for (size_t i = 0; i < d.count && !follow_is_over(f); i++)
        read_more(followed_of(f, d.files[i].path));
    tracedir_release(&d);
}

/* Until so many milliseconds have passed, or it is over. */
static void pause_for(struct follow *f, long ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&f->lock);
    while (!f->over && pthread_cond_timedwait(&f->change, &f->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&f->lock);
}

static void *follow_run(void *arg)
{
    struct follow *f = arg;

    for (pause_for(f, f->after_ms); !follow_is_over(f); pause_for(f, FOLLOW_POLL_MS))
        follow_look(f);
    return NULL;
}

/* ---- beginning and end ---- */

static void follow_free(struct follow *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct followed *t = f->traces[i];

        close_trace(t);
        findings_release(&t->findings);
        intern_release(&t->told);
        free(t->path);
        free(t);
    }
    free(f->traces);
    noise_release(&f->noise);
    pthread_cond_destroy(&f->change);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

size_t follow_show(const char *path)
{
    struct follow f = { .out = stdout };
    struct followed *t = followed_of(&f, path);
    size_t told;

    read_more(t);
    told = f.told;
    close_trace(t);
    findings_release(&t->findings);
    intern_release(&t->told);
    free(t->path);
    free(t);
    free(f.traces);
    return told;
}

/* Ids are known only to the report. */
static bool goes_by_ids(const struct noise *n)
{
    for (size_t i = 0; i < n->rules.count; i++)
        if (n->rules.rules[i].kind == RULE_ID)
            return true;
    return n->baseline_path;
}

/* What is told must be what the report has, and in words. */
static bool is_wanted(const struct options *o)
{
    return strcmp(o->texts[OPT_LIVE], "yes") == 0 && strcmp(o->texts[OPT_FORMAT], "text") == 0 &&
           !option_is(o, OPT_ENGINE) && !option_is(o, OPT_QUIET) && !o->lists[OPT_EXCLUDE].count &&
           !o->lists[OPT_EXCLUDE_FROM].count;
}

struct follow *follow_start(const struct options *o, const char *directory,
                            const struct run_list *list)
{
    struct follow *f;
    sigset_t all, before;
    bool started;

    if (!is_wanted(o))
        return NULL;
    f = xcalloc(1, sizeof(*f));
    *f = (struct follow){ .directory = directory, .list = list, .out = stderr };
    f->after_ms = option_is(o, OPT_LAST) ? FOLLOW_POLL_MS : FOLLOW_AFTER_MS; /* before it is gone */
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->change, NULL);
    sigfillset(&all); /* signals are for the thread that waits for the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = noise_load(&f->noise, o) == 0 && !goes_by_ids(&f->noise) &&
              pthread_create(&f->thread, NULL, follow_run, f) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        return f;
    follow_free(f);
    return NULL;
}

size_t follow_stop(struct follow *f)
{
    size_t told;

    if (!f)
        return 0;
    pthread_mutex_lock(&f->lock);
    __atomic_store_n(&f->over, true, __ATOMIC_RELEASE);
    pthread_cond_signal(&f->change);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    told = f->told;
    follow_free(f);
    return told;
}
