/* properties.h - the relations of docs/design/proof.md, each as a question to a trace */
#ifndef HEDDLE_PROPERTY_PROPERTIES_H
#define HEDDLE_PROPERTY_PROPERTIES_H

#include "subject.h"

enum verdict { HOLDS, VIOLATED, DOES_NOT_APPLY };

struct property {
    const char *name;
    /* Says in `why` what differs when violated. */
    enum verdict (*check)(struct subject *s, struct buf *why);
    unsigned every; /* costly ones look at one trace of so many; 0 and 1: at all */
};

/* One list per file, each ends with a NULL name; prop_main.c asks all of them. */
extern const struct property properties_observed[];
extern const struct property properties_actual[];
extern const struct property properties_sshb[];
extern const struct property properties_solve[];
extern const struct property properties_windows[];
extern const struct property properties_parts[];
extern const struct property properties_z3[];
extern const struct property properties_wcp[];
extern const struct property properties_wide[];
extern const struct property properties_osr[];
extern const struct property properties_rdit[];
extern const struct property properties_cp[];
extern const struct property properties_certain[];
extern const struct property properties_deadlock[];
extern const struct property properties_exclude[];
extern const struct property properties_live[];
extern const struct property properties_showable[];
extern const struct property properties_gist[];
extern const struct property properties_taints[];
extern const struct property properties_sieve[];
extern const struct property properties_options[];
extern const struct property properties_syncp[];

/* For the files of properties: every pair of a is in b. */
enum verdict subset(const struct pair_set *a, const struct pair_set *b, const char *what,
                    struct buf *why);
/* Both hold. */
enum verdict both(enum verdict a, enum verdict b);
/* The race has a witness that ends with its accesses, and checker and oracle accept it. */
struct witness_trace;
enum verdict judge_witness(struct subject *s, const struct race *r, const struct witness_trace *w,
                           struct buf *why);

/* All engines of the cascade on the trace; its result is that of analysis_run(). */
int run_cascade(struct subject *s, const struct engine_options *options, struct analysis *a,
                struct error *err);
/* The strongest that any engine says of the two sites. */
enum strength cascade_strength(const struct analysis *a, uint32_t site, uint32_t other);
/* The checker of the whole trace accepts every schedule, with the rule for calls where there are
 * any: the cascade takes care of them. */
enum verdict cascade_schedules_hold(const struct subject *s, const struct analysis *a,
                                    struct buf *why);

/* The same trace as text, but the location of an event is one of so many (prop_deadlock.c). */
void few_locations(const struct subject *s, unsigned locations, struct buf *out);

/* Every race of the engine passes judge_witness(); for exact traces. */
enum verdict races_have_witnesses(struct subject *s, const struct engine *e, struct buf *why);

/* Can two accesses meet when all before `first` stays as recorded and nothing from `end` on
 * happens? By enumeration (prop_windows.c). */
struct view;
bool window_allows(struct subject *s, const struct view *v, size_t first, size_t end, size_t a,
                   size_t b);

/* For the theorems of cp and wcp (first_race.c). The race whose second access comes first, with
 * the latest first access. */
bool first_race(const struct pair_set *found, size_t *a, size_t *b);
/* Up to b the trace has nothing that is not in the papers: no order that matters to reads or to
 * memory but is neither in the relation nor a race. Such are those between two atomics (relaxed
 * ones give no edge), and from an alloc to a use of memory whose address came by no recorded way.
 */
bool is_ordinary(const struct subject *s, const struct relation *order, size_t b);
/* Some correct reordering deadlocks (or the search was cut off). */
bool can_deadlock(const struct subject *s);

#endif
