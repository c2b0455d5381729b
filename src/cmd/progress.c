/* progress.c - a line on the terminal for what takes long, and signals that end it early */
#include "cmd/progress.h"
#include "base/seconds.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define SHOW_AFTER 2.0 /* seconds: shorter waits need no explanation */
#define SHOW_EVERY 0.2 /* five times a second looks alive and costs nothing */

static const int stopping[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t stop_asked;
static volatile double stop_time;

/* timeout(1) signals us and then our group: that is one and the same wish. */
#define SAME_WISH 0.3 /* seconds */

/* The second one, whichever it is, has its usual effect. */
static void on_interrupt(int sig)
{
    if (!stop_asked) {
        stop_time = seconds_now();
        stop_asked = 1;
    } else if (seconds_now() - stop_time > SAME_WISH) {
        signal(sig, SIG_DFL);
        raise(sig); /* delivered when we return */
    }
}

/* A shell that ignores the signal for a background job, or nohup, is obeyed. */
void interrupts_on(void)
{
    struct sigaction old, act = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };

    for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
        if (sigaction(stopping[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(stopping[i], &act, NULL);
}

bool interrupts_came(void)
{
    return stop_asked != 0;
}

void progress_start(struct progress *p, bool wanted, const char *what)
{
    *p = (struct progress){ .visible = wanted && isatty(STDERR_FILENO),
                            .what = what,
                            .start = seconds_now() };
}

/* The info is that of the first pass, else NULL. */
static void show_in_progress(struct progress *p, const struct trace_info *info, double done,
                             double elapsed)
{
    fputs("\r\033[Kheddle: ", stderr);
    if (p->what)
        fprintf(stderr, "%s, %.0f %%", p->what, done * 100);
    else
        fprintf(stderr, "%.1f million events, %.1f million/s", (double)info->events / 1e6,
                (double)info->events / elapsed / 1e6);
    if (done > 0 && done <= 1)
        fprintf(stderr, ", %.0f s left", elapsed / done - elapsed);
    fflush(stderr);
    p->shown = true;
}

static void show_now_and_then(struct progress *p, const struct trace_info *info, double done)
{
    double t;

    if (!p->visible)
        return;
    t = seconds_now();
    if (t - p->start >= SHOW_AFTER && t - p->last >= SHOW_EVERY) {
        show_in_progress(p, info, done, t - p->start);
        p->last = t;
    }
}

void progress_show(void *progress, const struct trace_info *info)
{
    show_now_and_then(progress, info,
                      info->bytes_total ? (double)info->bytes_read / (double)info->bytes_total : 0);
}

bool progress_deciding(void *progress, const char *engine, double done)
{
    struct progress *p = progress;

    if (p->what != engine) {
        p->what = engine;
        p->start = seconds_now();
    }
    show_now_and_then(p, NULL, done);
    return interrupts_came();
}

bool progress_tick(void *progress, const struct trace_info *info)
{
    progress_show(progress, info);
    return interrupts_came();
}

void progress_stop(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

int progress_next(struct progress *p, struct trace *t, struct batch *b, struct error *err)
{
    int r = trace_next(t, b, err);

    if (r > 0)
        progress_show(p, trace_info(t));
    else
        progress_stop(p);
    return r;
}
