/* relax_values.h - inside of relax: the values of a schedule, and which conditions fail
 *
 * In a concrete schedule the writer of every read is known, so every value can be computed:
 * reads see what their writers wrote, writes are expressions over reads. A value is
 *   SAME   what it was in the trace (it need not be known)
 *   OTHER  another one, known
 *   BAD    neither: it depends on changed reads in a way that nothing tells
 * Only what is not SAME is computed and kept.
 *
 * Concurrency: `struct relax_facts` is shared and read only; an eval belongs to one thread.
 */
#ifndef HEDDLE_ENGINES_VALUES_RELAX_VALUES_H
#define HEDDLE_ENGINES_VALUES_RELAX_VALUES_H

#include "engines/predict/model.h"
#include "engines/race.h"
#include "execution/execution.h"
#include "solve/value_checker.h"

enum value_state { VALUE_SAME, VALUE_OTHER, VALUE_BAD };

struct value {
    u128 v;
    uint8_t state; /* enum value_state */
    bool has;      /* v is known */
};

/* What does not change from question to question. */
struct relax_facts {
    const struct view *view;
    const struct execution *e;
    const struct model *m;
    uint32_t *condition_first, *condition; /* node -> conditions of the execution, before it */
    uint32_t *pin;              /* node -> the node for which its reads must be SAME, SOLVE_NONE */
    bool *pinned;               /* node: before it, what its creators read must be SAME, too */
    bool *odd;                  /* read touch: its recorded value is not what its writer wrote */
    struct problem_cell *first; /* cell -> what is there first */
    uint32_t *parent, *forked;  /* thread -> who forked it, and where; SOLVE_NONE */
};

/* `exact`: the writer that the trace shows for a read is the one it had. */
void relax_facts_init(struct relax_facts *f, const struct model *m, const struct execution *e,
                      bool exact);
void relax_facts_release(struct relax_facts *f);
/* Cells of the view that matter though only one thread touches them; the caller frees. */
bool *relax_cells(const struct view *v, const struct execution *e);

struct eval;

struct eval *eval_new(const struct relax_facts *f);
void eval_free(struct eval *ev);
uint64_t eval_bytes(const struct relax_facts *f);

/* For struct value_checker; the argument is the eval. */
void eval_check(void *eval, struct value_run *run, struct value_faults *out);
bool eval_is_wrong(void *eval, uint32_t condition, uint32_t read, uint32_t writer);

/* Of the last run: the reads that are not SAME, in its order; *n of them, the caller frees. */
struct value_change *eval_changes(struct eval *ev, const struct value_run *run, size_t *n);

/* ---- between relax_values.c and relax_facts.c ---- */

bool value_recorded_read(const struct event *e, uint64_t *value);
bool value_recorded_write(const struct execution *e, uint32_t event, u128 *value);

/* Where a write of many bytes gets what it leaves in a touch's cell: pieces of the execution. */
enum { PIECES_OF_CELL = 9 };
struct touch_pieces {
    expr list[PIECES_OF_CELL];
    unsigned bits;  /* of each */
    unsigned shift; /* those of the first one that do not count */
    uint64_t mask;  /* of what does */
};
/* How many; 0: none, or not known. */
unsigned touch_pieces(const struct relax_facts *f, uint32_t touch, struct touch_pieces *out);
/* What a writing touch left in its cell in the recorded execution. */
bool value_recorded_part(const struct relax_facts *f, uint32_t touch, u128 *part);

static inline u128 join_pieces(const struct touch_pieces *p, const u128 *values, unsigned n)
{
    u128 all = 0;

    for (unsigned i = 0; i < n; i++)
        all |= values[i] << p->bits * i;
    return all >> p->shift & p->mask;
}

/* The bytes of a touch's cell of a value of its event; false: more than 16. */
static inline bool touch_part(const struct relax_facts *f, uint32_t touch, u128 value, u128 *part)
{
    const struct problem_touch *t = &f->m->problem.touches[touch];
    const struct view_cell *c = &f->view->cells[f->m->view_cell[t->cell]];
    const struct event *e = &f->view->events[f->m->event_of[t->node]];
    uint64_t offset = c->address - e->target;

    if (offset + c->bytes > 16)
        return false;
    *part = value >> 8 * offset & expr_mask(8 * (unsigned)c->bytes);
    return true;
}

#endif
