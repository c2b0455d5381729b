/* trace.h - reading a trace, whatever its format
 *
 * trace_open() looks at the content (and, where that is ambiguous, at the
 * name) to find the format: .hdl, .std, RoadRunner, SSHB CSV, RV-Predict;
 * text may be gzip or zstd compressed. trace_next() yields batches in one
 * total order, each event checked and marked by check_trace.c.
 *
 *     struct trace *t = trace_open(path, &err);
 *     while ((r = trace_next(t, &b, &err)) > 0) ...use b.events...
 *     trace_close(t);
 *
 * Position: the first event of a trace is 0; repairs never shift positions.
 * Concurrency: none; a trace belongs to one thread.
 */
#ifndef HEDDLE_TRACE_TRACE_H
#define HEDDLE_TRACE_TRACE_H

#include <stddef.h>

#include "base/error.h"
#include "trace/check/diag.h"
#include "trace/event.h"
#include "trace/tables.h"

/* How far the order of the trace can be trusted. */
enum trace_order { TRACE_EXACT, TRACE_SYNC_EXACT, TRACE_UNKNOWN };
extern const char *const trace_order_names[3]; /* "exact", "sync-exact", "unknown" */

struct batch {
    struct event *events;
    size_t count;
    uint64_t first; /* position of events[0] */
    /* D entries of calls, two words each (event.h). */
    const uint64_t *extra;
    uint64_t skipped; /* thin passes: events beyond `count` that were left out (trace_thin()) */
};

struct trace_info {
    const char *format;
    uint64_t events;          /* delivered so far; the whole number once trace_next() returned 0 */
    uint64_t expected_events; /* where the format knows beforehand, else 0 */
    uint64_t bytes_total, bytes_read; /* of the file, for progress */
    enum trace_order order;
    bool values;   /* some event carries a value (so far) */
    bool branches; /* there are branch events (so far) */
    bool calls;    /* there are calls into untraced code (so far) */
    bool loose;    /* some access is marked EV_LOOSE (so far) */
    /* Threads layout: reads that saw another value than the order says (so far). */
    uint64_t value_mismatches;
    /* Lists of calls (trace/calls/reach.h): objects that were known at one time, and lists that
     * would have cost too much and became D_ALL (so far). */
    uint64_t objects, lists_given_up;
    /* What could not be read of a damaged or unfinished file: */
    uint64_t lost_bytes;
    char loss[256]; /* one line that says what and where; empty = nothing lost */
};

struct trace;

struct trace *trace_open(const char *path, struct error *err);
void trace_close(struct trace *t);

const struct trace_info *trace_info(const struct trace *t);
const struct tables *trace_tables(const struct trace *t);
const struct diags *trace_diags(const struct trace *t);
/* Why synchronisation of the execution may be missing from the trace, or not in its order; NULL:
 * nothing says so. Once the whole trace was read (docs/design/actual.md). */
const char *trace_doubt(const struct trace *t);

/* 1 and a batch, 0 at the end, -1 and an error. The batch is valid until the next call. */
int trace_next(struct trace *t, struct batch *out, struct error *err);
/* Start again from the first event (second passes: reports, windows). */
int trace_rewind(struct trace *t, struct error *err);

/* A pass that needs few events: from the next ones on the source may leave out those that `drops`
 * says yes to, before they cost more than their decoding. In their place comes an event without an
 * operation, whose `value` says how many they are (event_positions()). `drops` is asked by the
 * thread that reads, for OP_ENTER, OP_EXIT and plain accesses. NULL: all events come again.
 * Sources and traces where nothing can be left out so (values, excluded code) pay no attention. */
struct trace_thin {
    bool (*drops)(void *arg, const struct event *e);
    void *arg;
};
void trace_thin(struct trace *t, const struct trace_thin *thin);

/* A recording that is being written: from the first call on, before any event is taken,
 * trace_next() returns 0 where there is nothing more yet; later calls look whether there is. The
 * order is one that the recording allows, not the one that it has when it is complete. `over`:
 * nothing is written any more. -1: such a trace cannot be followed, or the beginning of it that is
 * dropped has overtaken the reader: it has to be opened again. */
int trace_follow(struct trace *t, bool over);

/* Of a recording that is followed: only events up to this stamp come from now on. */
void trace_limit(struct trace *t, uint64_t stamp);
/* What the events so far leave behind, apart from what past.h knows, is added to `c`. The number of
 * the file's first chunk that has other events. */
uint32_t trace_seam(const struct trace *t, struct seam *c);

/* Leave the lists of calls as they are in the file, with entries behind D_ALL_KIND: for writing
 * them again. To be called before the first event is read. */
void trace_keep_lists(struct trace *t);

/* What trace_exclude() did. */
struct exclude_stats {
    uint64_t functions; /* that were met and left out */
    uint64_t events;    /* that are gone, or became a call or a return */
    uint64_t pairs;     /* calls of untraced code that they became */
    uint64_t entries;   /* of their D, all together */
    uint64_t all;       /* of these calls, those whose D is everything: they touch too much */
    uint64_t looked;    /* sites that were looked at for the places of functions */
    uint64_t halves;    /* visible acquires and releases whose other half is gone: calls, too */
};
struct globs; /* globs.h */

/* Take code out of the trace (exclude.h): reads all of it once and starts again. */
int trace_exclude(struct trace *t, struct globs *globs, struct exclude_stats *stats,
                  struct error *err);
/* What it did, or NULL where nothing was taken out. */
const struct exclude_stats *trace_excluded(const struct trace *t);
/* From the next rewind on: code that was left out is there all the same, or is not again. */
void trace_show_excluded(struct trace *t, bool show);

/* Some events of a trace, one bit each by position; `end` is behind the last of them. Muted ones,
 * in ascending order, are there but have no effect (as OP_ENTER) or are atomics that acquire
 * nothing. */
struct trace_selection {
    uint64_t *bits;
    uint64_t count, end;
    struct trace_muted {
        uint64_t position;
        bool relaxed; /* else without effect */
    } *muted;
    size_t nmuted, muted_cap;
};

/* From the next rewind on the trace consists of these events alone, numbered from 0 on; NULL: of
 * all of them again. Borrowed. Windows know nothing of it. */
void trace_select(struct trace *t, const struct trace_selection *s);

static inline bool trace_selects(const struct trace_selection *s, uint64_t position)
{
    return s->bits[position / 64] >> (position % 64) & 1;
}

/* The whole trace in memory: for small traces, the witness checker and tests. */
struct trace_mem {
    struct event *events;
    size_t count;
    uint64_t *extra; /* value of a call event indexes this */
    size_t nextra;
};

/* Reads from the current position to the end; more than max_events is an error. */
int trace_load(struct trace *t, size_t max_events, struct trace_mem *out, struct error *err);
/* Reads up to that many events and leaves the rest; fewer where the trace ends before. */
int trace_load_first(struct trace *t, size_t events, struct trace_mem *out, struct error *err);
void trace_mem_release(struct trace_mem *m);

/* From here on, after a rewind, the trace consists of these events alone, numbered from 0 on:
 * marked by check_trace.c already, and in memory, so that further passes read no file. Taken over;
 * not while events are selected. trace_let_go() goes back to those of the file. Windows are not to
 * be had. */
void trace_hold(struct trace *t, struct trace_mem *events);
void trace_let_go(struct trace *t);
/* Of what is held only the first `count` events from here on, after a rewind. */
void trace_shorten(struct trace *t, size_t count);
/* Events of the file, while some are held. */
uint64_t trace_held_of(const struct trace *t);

/* The events [first, first + count), fewer where the trace ends before, as they were recorded:
 * without the marks of check_trace.c, which depend on all that came before. Merged .hdl files jump
 * to the chunk (so a window behind damage that no pass has met yet is delivered); all others are
 * streamed, from the start or, where windows come in ascending order, from the last one on.
 * Afterwards trace_rewind() must come before trace_next(), which else is an error. */
int trace_window(struct trace *t, uint64_t first, size_t count, struct trace_mem *out,
                 struct error *err);

#endif
