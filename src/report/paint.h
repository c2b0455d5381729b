/* paint.h - pieces that the text report and `explain` share */
#ifndef HEDDLE_REPORT_PAINT_H
#define HEDDLE_REPORT_PAINT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/findings.h"

struct painter {
    FILE *out;
    bool colour;
    char folder[1024]; /* the current directory with a slash; files in it are shown without it */
    const struct side *above; /* what was painted before: outer frames that are the same are not
                                 repeated; NULL: nothing */
};

void painter_init(struct painter *p, FILE *out, bool colour);
/* Where an access is, in the spelling of its stack (`side.location` is the trace's own). */
const char *paint_place(const struct painter *p, const struct side *s);
/* The part of a location that is printed. */
const char *paint_location(const struct painter *p, const char *location);

/* The lock of that name, if the access holds it. */
const struct held_lock *side_lock(const struct side *s, const char *name);

/* Text padded with blanks to a width in characters (not bytes). */
size_t paint_width(const char *s);
void paint_padded(struct painter *p, const char *s, size_t width);
void paint_bold(struct painter *p, const char *s);

/* "  first   write of 5 by T1 at 14 in f (event 12)" with stack, locks and creation. */
void paint_side(struct painter *p, const char *label, const struct side *s);
/* "  T1 waits for b, held by T2 (taken at 5, event 4): acquire at 2 in f (event 1)" with the rest
 * of a side. */
void paint_waiter(struct painter *p, const struct deadlock_finding *d, size_t waiter);
/* "  memory  byte 6 of 16 allocated by A at x.c:3 (event 2)", where that is known. */
void paint_allocation(struct painter *p, const struct finding *r);
/* The engines of a race: "hb, shb". */
/* "found first by hb, then by shb, syncp; witnessed by syncp" */
void paint_finders(struct painter *p, const struct findings *f, const struct finding *r);
void paint_engines(struct painter *p, const struct findings *f, uint64_t engines);

/* The lines of a schedule, '>' where another thread takes over. `thread` and the texts may be
 * NULL where the trace is not at hand. */
struct paint_widths {
    size_t thread, operation;
};
void paint_step_head(struct painter *p, const struct paint_widths *w);
void paint_step(struct painter *p, const struct schedule_step *step, bool is_switch,
                const struct paint_widths *w);
void paint_gap(struct painter *p, uint64_t omitted);

#endif
