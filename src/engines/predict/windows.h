/* windows.h - a part of a trace, with what it begins with
 *
 * The view of a window [first, first + count): its events, and before them
 * those that say what the state is at its beginning: the last writers of the
 * cells it touches and the acquires of sections that are open. Those come
 * first and as observed in every schedule; needs of what came before are
 * satisfied. Sections and threads end with the window at the latest.
 *
 * Ownership: borrows the view of the whole trace. Concurrency: read only.
 */
#ifndef HEDDLE_ENGINES_PREDICT_WINDOWS_H
#define HEDDLE_ENGINES_PREDICT_WINDOWS_H

#include "order/view.h"

struct window {
    const struct view *whole; /* borrowed */
    struct view view;         /* of the events below */
    struct event *events;     /* those from before, then the window's */
    uint32_t kept;            /* how many are from before */
    uint32_t first, count;    /* the window itself */
    uint32_t fixed;           /* events at the beginning of the trace that stay as they are */
    uint32_t *position;       /* of the kept ones */
    uint32_t *cell_of;        /* the view's cell -> that of the whole view */
    uint32_t *before;         /* the view's cell -> position of its last writer, VIEW_NONE */
};

struct window *window_new(const struct view *whole, uint32_t first, uint32_t count);
void window_free(struct window *w);

/* Is the position in the window? Its event in the window's view. */
bool window_has(const struct window *w, uint64_t position);
uint32_t window_event(const struct window *w, uint64_t position);

/* A schedule of the window's view, the two racing accesses last, as one of the whole trace: what
 * comes before the window as observed, without what is not needed. The caller's. With `fixed`
 * events all these come before it and are not listed. */
uint64_t *window_schedule(const struct window *w, const uint64_t *list, size_t n, size_t *count);

#endif
