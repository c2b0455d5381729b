/* solver_inside.h - the state that the parts of the solver share
 *
 * Chains. What is executed is a prefix of each thread, so a chain per thread
 * holds one number: so many of its nodes are in (`lo`), and from `hi` on none
 * can be. With branches a thread has a second chain: so many of its nodes have
 * right reads before and at them. The same where reads are loose: there it is about
 * those alone, all others are right wherever they are executed. Raising a chain raises
 * the others by needs.
 *
 * Variables say:
 *   IN(n)       node n is executed: lo > rank on its thread's first chain
 *   CON(n)      and all reads of its thread up to n are right (second chain)
 *   SEL(r, w)   read touch r sees writing touch w (or what was there first)
 *   ORDER(u, v) nodes u and v are executed, u before v
 * Only positive order variables say something about the order: "not u before
 * v" may also mean that one of them is not executed. What is not assigned
 * counts as false.
 *
 * A literal is 2 * variable + 1 where negated. Variable 0 is always true.
 */
#ifndef HEDDLE_SOLVE_SOLVER_INSIDE_H
#define HEDDLE_SOLVE_SOLVER_INSIDE_H

#include "base/map.h"
#include "solve/must.h"
#include "solve/solver.h"
#include "solve/value_checker.h"

#define LIT_TRUE  0u
#define LIT_FALSE 1u
#define LIT_NONE  UINT32_MAX

enum kind { KIND_IN, KIND_CON, KIND_SEL, KIND_ORDER };

struct list {
    uint32_t *items;
    size_t count, cap;
};

struct var {
    uint32_t x, y; /* see kind; SEL: y SOLVE_NONE is the beginning */
    uint32_t level;
    uint32_t reason; /* clause, or literal with by_literal; 0 and not by_literal: none */
    uint32_t next;   /* IN, CON: another variable of the same chain */
    uint8_t kind;
    int8_t value; /* 1 true, -1 false, 0 not assigned */
    bool by_literal, phase, seen;
};

/* An edge of the order that a true variable stands for. */
struct edge {
    uint32_t from, to, lit;
    uint32_t next_out, next_in; /* of the same source, of the same target; edge + 1 */
};

/* A chain's bound before it was changed. */
struct bound {
    uint32_t chain, lo, hi, hi_lit;
};

struct chain {
    uint32_t lo, hi;
    uint32_t hi_lit; /* the literal that is false because of hi; LIT_NONE: the question itself */
    uint32_t vars;   /* its variables, linked; 0 ends */
};

struct level {
    uint32_t trail, bounds, edges;
};

enum fault_kind { FAULT_SECTIONS, FAULT_READ, FAULT_INTRUDER, FAULT_VALUE };

/* Something wrong in a replay. */
struct fault {
    uint8_t kind;
    uint32_t x, y, z; /* two sections; a read touch; read, its writer, the writer in between;
                         number in value_faults */
};

/* A read whose choice of writers is a clause. */
struct choice {
    uint32_t touch;
    uint32_t first, count; /* its SEL variables */
};

struct search_record {
    uint32_t thread, rank;
    uint32_t parent; /* record */
    uint32_t lit;    /* of the edge that led here, LIT_NONE: an edge that always holds */
};

/* Nodes of a thread with edges to others, by rank: of needs, and those that variables may add. */
struct knots {
    struct list fixed, extra;
};

struct move {
    uint32_t place, node;
};

struct replay;

struct solver {
    const struct problem *p;
    uint32_t nchains;

    struct chain *chains;
    struct bound *bounds;
    size_t nbounds, bounds_cap;
    struct list raises; /* pairs: chain, lo */

    struct var *vars;
    size_t nvars, vars_cap;
    uint32_t *in_var, *con_var; /* node -> variable, 0 none */
    struct map order_var;       /* (u, v) -> literal */
    uint32_t *watch;            /* literal -> clause * 2 + side, 0 ends */
    size_t watch_cap;
    struct list mem;     /* clauses: size, two links, literals; [0] unused */
    struct list clauses; /* those instantiated (not learned), for decisions */
    size_t scan;         /* where the search for an open clause goes on */

    struct list trail;
    size_t head; /* of the trail: not propagated from here on */
    struct level *levels;
    size_t nlevels, levels_cap;
    struct list conflict; /* literals, all false */
    struct list learned;

    struct edge *edges;
    size_t nedges, edges_cap;
    uint32_t *place;                       /* node -> its place in the last replay */
    uint32_t *placed;                      /* node -> replay that gave it that place */
    uint32_t replays;                      /* the last one */
    uint32_t *out_of;                      /* node -> edge + 1 */
    uint32_t *into;                        /* node -> edge + 1 */
    struct knots *knots;                   /* by thread */
    uint32_t *reached, *expanded, *behind; /* thread -> rank; scratch of the search */
    uint32_t *executed;                    /* thread -> nodes; scratch of a check */
    struct move *moves;
    size_t nmoves, moves_cap;
    struct search_record *records;
    size_t nrecords, records_cap;
    struct list round, later; /* records of this round of the search, of the next */

    uint32_t *choice_of; /* read touch -> choice + 1 */
    struct choice *choices;
    size_t nchoices, choices_cap;
    uint32_t choice_limit; /* writers a read may choose from; 0: all */
    bool choices_cut;

    /* Nodes below `frozen` come first and as observed (freeze.c); 0: none do. */
    uint32_t frozen;
    uint32_t *frozen_count;                /* thread -> how many */
    uint32_t *frozen_last;                 /* cell -> the touch that wrote it last + 1, 0: nobody */
    struct list frozen_cells, frozen_open; /* cells written; sections left open */

    struct rows rows;   /* what a read can see, for any reordering up to a and b */
    uint32_t *possible; /* thread -> nodes up to a or b, or all */

    struct replay *replay;
    struct list order; /* the answer */
    uint32_t *when;    /* node -> its place in the answer; shorten.c */
    uint32_t *saw;     /* read touch -> writing touch + 1 in the answer */
    struct fault *faults;
    size_t nfaults, faults_cap;
    bool wrong; /* a read was */

    uint32_t *scanned; /* chain -> rank; scratch of as_observed.c */
    uint32_t *latest;  /* lock -> section + 1; likewise */
    struct list locks; /* those with a latest one */

    const struct value_checker *values; /* or NULL; value_checker.h */
    uint32_t *seen;                     /* with values: read touch -> writing touch + 1 */
    struct value_faults value_faults;
    uint32_t a, b; /* the question */

    struct solve_budget budget;
    double started;
    uint64_t conflicts, rounds;
    uint64_t work, work_limit; /* nodes, knots and clauses looked at; 0: no limit */
    bool unsatisfiable, too_long;
    enum solve_way way;
};

static inline int lit_value(const struct solver *s, uint32_t lit)
{
    int v = s->vars[lit >> 1].value;

    return lit & 1 ? -v : v;
}

static inline uint32_t in_chain(uint32_t thread)
{
    return thread;
}

static inline bool has_con_chains(const struct problem *p)
{
    return p->branches || p->loose;
}

/* The chain of right reads: the same as the other without branches and loose reads. */
static inline uint32_t con_chain(const struct solver *s, uint32_t thread)
{
    return has_con_chains(s->p) ? s->p->nthreads + thread : thread;
}

/* The chain that a read must be covered by to have to be right. */
static inline uint32_t chain_of_read(const struct solver *s, const struct problem_touch *t)
{
    uint32_t thread = s->p->thread[t->node];

    return s->p->loose && !(t->flags & TOUCH_LOOSE) ? in_chain(thread) : con_chain(s, thread);
}

static inline bool is_in(const struct solver *s, uint32_t node)
{
    return s->p->rank[node] < s->chains[s->p->thread[node]].lo;
}

static inline bool may_be_in(const struct solver *s, uint32_t node)
{
    return s->p->rank[node] < s->chains[s->p->thread[node]].hi;
}

void list_push(struct list *l, uint32_t item);

/* ---- chains.c ---- */

/* Raise a chain to at least `lo` because of a true literal (LIT_NONE: the question), and all that
 * follows from it. False: impossible, s->conflict says why. */
bool chains_raise(struct solver *s, uint32_t chain, uint32_t lo, uint32_t cause);
/* The write of a touch is there, and of the value it had. */
bool chains_raise_writer(struct solver *s, uint32_t touch, uint32_t cause);
/* A variable of the chain became false: nothing from its rank on. */
void chains_limit(struct solver *s, uint32_t chain, uint32_t hi, uint32_t lit);
void chains_undo(struct solver *s, size_t bounds);

/* A node's place; edges lead to later places. Until a replay gives it one: that of the trace. */
static inline uint32_t place_of(const struct solver *s, uint32_t node)
{
    if (node < s->frozen)
        return 0;
    return s->placed[node] == s->replays ? s->place[node] : s->p->nnodes + 1 + node;
}

/* ---- graph.c ---- */

void graph_init(struct solver *s);
void graph_discard(struct solver *s);
/* A node that may get edges, before it does: at level 0, where places are those of a replay. */
void graph_add_knot(struct solver *s, uint32_t node);
void graph_clear_knots(struct solver *s);
/* False: it closes a cycle, s->conflict says with what. */
bool graph_add(struct solver *s, uint32_t from, uint32_t to, uint32_t lit);
void graph_undo(struct solver *s, size_t edges);

/* ---- search.c: clause learning ---- */

uint32_t search_new_var(struct solver *s, enum kind kind, uint32_t x, uint32_t y);
/* The variable becomes true or false; it must not be assigned. */
void search_assign(struct solver *s, uint32_t lit, uint32_t reason, bool by_literal);
/* A clause at level 0; literals that are false there are left out. */
void search_add_clause(struct solver *s, const uint32_t *lits, size_t n);
bool search_propagate(struct solver *s);
/* After a conflict above level 0: learn from it and go back. */
void search_learn(struct solver *s);
void search_undo(struct solver *s, size_t level);
void search_decide(struct solver *s, uint32_t lit);
/* A literal that a clause still waits for; LIT_NONE: all clauses are true. */
uint32_t search_open_literal(struct solver *s);

/* ---- constraints.c: what faults mean as clauses ---- */

void constraints_add(struct solver *s, const struct fault *f);
uint32_t constraints_chosen(const struct solver *s, uint32_t touch, bool *found);
uint32_t constraints_in(struct solver *s, uint32_t node); /* the literal IN(node) */
/* The literal of a choice that was made a clause; LIT_FALSE: that writer is not among them. */
uint32_t constraints_choice(const struct solver *s, uint32_t touch, uint32_t writer);

/* ---- replay_faults.c ---- */

struct replay *replay_new(const struct problem *p);
void replay_free(struct replay *r);
/* Put what is in into an order and execute it; s->faults are what is wrong with it. `others`: nodes
 * near them get places too. False: no order found, or out of time. */
bool replay_run(struct solver *s, bool others);
const uint32_t *replay_order(const struct replay *r, uint32_t *count);
void replay_fault(struct solver *s, enum fault_kind kind, uint32_t x, uint32_t y, uint32_t z);

/* ---- value_checker.c ---- */

void value_faults_release(struct solver *s);
void value_faults_check(struct solver *s);               /* after a replay: more faults */
void value_faults_add(struct solver *s, uint32_t fault); /* one of them as a clause */

/* ---- freeze.c ---- */

/* Execute the nodes below `node` as observed; false: they are not right even so. */
bool freeze_up_to(struct solver *s, uint32_t node);
/* Raise the chains to what is frozen. */
bool freeze_raise(struct solver *s);
void freeze_end(struct solver *s);
/* Keep the list of open sections as a node begins and ends some; false: two overlap. */
bool sections_execute(const struct problem *p, struct list *open, uint32_t node);

/* ---- as_observed.c ---- */

/* Try with the writers and the lock order of the trace; true: the replay has no faults. */
bool observed_try(struct solver *s);
/* Raise the chains by what is needed with the order and the writers of an answer (s->when,
 * s->saw), or with those of the trace. */
bool observed_close(struct solver *s, bool of_answer);

/* ---- shorten.c ---- */

/* Leave out of s->order what the two accesses do not need in this very order. */
void shorten_order(struct solver *s, uint32_t a, uint32_t b);

/* ---- solver.c ---- */

/* Raise the chains to what has to be there for a and b to be next. */
bool solver_need(struct solver *s, uint32_t a, uint32_t b);
bool out_of_budget(const struct solver *s);

#endif
