/* hide.h - a full trace made incomplete: parts of threads become untraced calls
 *
 * Random segments of threads are taken for functions that are not traced.
 * Their events are left out (some stay, as callbacks that are traced; begin,
 * end, fences, calls, returns and acquires without a release always stay), and a call and a return
 * are put in at their ends, with all that the events left out touch as D, and now and then more.
 * Segments may contain others. Calls may stay open for ever.
 */
#ifndef HEDDLE_TESTS_HIDE_H
#define HEDDLE_TESTS_HIDE_H

#include "trace/trace.h"

struct hidden {
    struct trace_mem mem; /* checked and marked, as a reader would */
    struct trace_info info;
    size_t *origin; /* event -> its position in the full trace; SIZE_MAX: a call or return */
    size_t events;  /* left out */
};

/* The same seed hides the same. The tables are those of the full trace. */
void hide(const struct trace_mem *full, const struct tables *tables, uint64_t seed,
          struct hidden *out);
/* The same, but all that is hidden is writes: reads see values of which the trace has no write. */
void hide_writes(const struct trace_mem *full, const struct tables *tables, uint64_t seed,
                 struct hidden *out);
void hidden_release(struct hidden *h);

#endif
