/* tail.c - of a recording that does not end only the last part is kept */
#include "record/tail.h"
#include "base/alloc.h"
#include "trace/past.h"

#include <malloc.h>
#include <stdlib.h>

/* So many parts of the window more than wanted are there before they go: each time costs the names
 * and what is alive. */
enum { TIME_PARTS = 32, BYTES_PARTS = 16 };

struct tail {
    struct sink *sink;
    struct trace *trace; /* NULL until something is dropped */
    struct past *past;
    uint64_t limit;      /* stamp up to which it has been read */
    uint64_t past_bytes; /* of what stands for the beginning */
    bool stretches;
    bool failed; /* it cannot be read: everything is kept */
};

struct tail *tail_new(struct sink *o, bool stretches)
{
    struct tail *w;

    if (!o->keep_ns && !o->keep_bytes)
        return NULL;
    w = xcalloc(1, sizeof(*w));
    w->sink = o;
    w->stretches = stretches;
    return w;
}

void tail_free(struct tail *w)
{
    if (!w)
        return;
    trace_close(w->trace);
    past_free(w->past);
    free(w);
}

/* ---- where it is to begin ---- */

static uint64_t limit_by_bytes(const struct tail *w)
{
    uint64_t keep = w->sink->keep_bytes, part = keep / BYTES_PARTS;

    if (hdl_kept(w->sink->hdl) <= keep - part)
        return 0;
    return hdl_stamp_before(w->sink->hdl, keep - 2 * part);
}

static uint64_t limit_by_time(const struct tail *w, uint64_t now_ns)
{
    uint64_t keep = w->sink->keep_ns, first = hdl_stamp_first(w->sink->hdl);

    if (!first || now_ns < first + keep + keep / TIME_PARTS)
        return 0;
    return now_ns - keep;
}

/* The stamp up to which all can go; 0: not now. */
static uint64_t find_limit(struct tail *w, uint64_t now_ns)
{
    uint64_t limit;

    pthread_mutex_lock(&w->sink->lock);
    limit = w->sink->keep_bytes ? limit_by_bytes(w) : limit_by_time(w, now_ns);
    pthread_mutex_unlock(&w->sink->lock);
    return limit > w->limit ? limit : 0;
}

/* ---- what goes ---- */

static void fail(struct tail *w, const char *why)
{
    w->failed = true;
    pthread_mutex_lock(&w->sink->lock);
    sink_note(w->sink, "the beginning of the recording could not be dropped: %s", why);
    pthread_mutex_unlock(&w->sink->lock);
}

static bool open_trace(struct tail *w)
{
    struct error err;

    if (w->trace)
        return true;
    w->trace = trace_open(w->sink->path, &err);
    if (w->trace && trace_follow(w->trace, false) == 0) {
        w->past = past_new(w->stretches);
        return true;
    }
    fail(w, w->trace ? "it cannot be followed" : err.text);
    return false;
}

/* Everything up to the stamp, as far as it is in the file. */
static bool read_up_to(struct tail *w, uint64_t stamp)
{
    struct error err;
    struct batch b;
    int r;

    trace_limit(w->trace, stamp);
    trace_follow(w->trace, false);
    while ((r = trace_next(w->trace, &b, &err)) > 0)
        past_add(w->past, &b);
    w->limit = stamp;
    if (r == 0 && !w->sink->failed)
        return true;
    fail(w, r < 0 ? err.text : "the file cannot be written");
    return false;
}

static void drop(struct tail *w, uint32_t first, struct seam *seam)
{
    struct hdl_writer *hdl = w->sink->hdl;
    struct trace_mem events;
    struct error err;
    uint64_t before;

    seam_add(seam, SEAM_EVENTS, SEAM_GONE, past_events(w->past));
    seam_add(seam, SEAM_EVENTS, SEAM_STAMP, w->limit);
    past_list(w->past, &events);
    pthread_mutex_lock(&w->sink->lock);
    before = hdl_bytes(hdl);
    if (hdl_drop(hdl, first, &(struct hdl_past){ seam, &events }, &err) < 0)
        sink_note(w->sink, "%s", err.text);
    w->past_bytes = hdl_bytes(hdl) - before;
    pthread_mutex_unlock(&w->sink->lock);
    trace_mem_release(&events);
}

void tail_move(struct tail *w, uint64_t now_ns)
{
    uint64_t limit = w && !w->failed ? find_limit(w, now_ns) : 0, bytes;
    struct seam seam = { 0 };
    uint32_t first;

    if (!limit || !open_trace(w) || !read_up_to(w, limit))
        return;
    first = trace_seam(w->trace, &seam);
    pthread_mutex_lock(&w->sink->lock);
    bytes = hdl_bytes_before(w->sink->hdl, first);
    pthread_mutex_unlock(&w->sink->lock);
    if (bytes > w->past_bytes && past_is_short(w->past))
        drop(w, first, &seam);
    seam_release(&seam);
    malloc_trim(
        0); /* packed chunks of all sizes come and go, and leave gaps: a sixth of the memory */
}
