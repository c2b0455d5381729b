/* steps.h - chosen events of a trace as readable text
 *
 * Say which positions are wanted, let one pass over the trace fill them in,
 * then ask by position:
 *
 *     steps_want(s, 12); ... steps_seal(s);
 *     for each batch: steps_feed(s, &batch, tables);
 *     steps_get(s, 12)->operation
 *
 * Memory: 32 bytes a wanted position, and each different text once.
 */
#ifndef HEDDLE_REPORT_STEPS_H
#define HEDDLE_REPORT_STEPS_H

#include "base/error.h"
#include "report/findings.h"
#include "report/naming.h"
#include "trace/trace.h"

struct step_text {
    uint64_t position;
    const char *thread, *operation, *location; /* NULL until the event was fed */
};

struct steps {
    struct step_text *list; /* by position, once sealed */
    size_t count, cap;
    size_t next;           /* first one that was not fed */
    struct findings *home; /* borrowed: owns the strings */
    struct naming *naming; /* borrowed, or NULL: addresses stay addresses */
};

void steps_init(struct steps *s, struct findings *home);
void steps_release(struct steps *s);

/* NULL where the position was not wanted or not fed. */
const struct step_text *steps_get(const struct steps *s, uint64_t position);
/* True once every wanted position was fed. */
bool steps_done(const struct steps *s);

void steps_want(struct steps *s, uint64_t position);
void steps_seal(struct steps *s); /* sorts, drops doubles; nothing is wanted afterwards */
/* Texts of an event that the trace does not have (struct finding_flip), where it is wanted. Before
 * events are fed. */
void steps_put(struct steps *s, const struct schedule_step *step);
void steps_feed(struct steps *s, const struct batch *b, const struct tables *t);

/* A pass of its own: rewinds the trace and reads as far as needed. */
int steps_collect(struct steps *s, struct trace *t, struct error *err);

#endif
