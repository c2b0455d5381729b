/* flip_inside.h - inside of flip*.c: a path being executed, and what is known of the trace */
#ifndef HEDDLE_EXECUTION_FLIP_INSIDE_H
#define HEDDLE_EXECUTION_FLIP_INSIDE_H

#include "execution/flip.h"
#include "execution/exec_inside.h"

/* Memory that only exists in executed paths: no address of the program is there. */
#define FLIP_HEAP       (UINT64_C(1) << 55)
#define IS_FLIP_HEAP(a) ((a) >> 55 == 1)

struct held_lock {
    uint64_t lock;
    bool shared;
};
struct held {
    struct held_lock *list;
    size_t count, cap;
};

/* What bytes of a word hold, in the order of the trace. */
struct shadow_word {
    uint64_t value;
    uint8_t known;   /* bytes */
    uint8_t written; /* bytes; what is read there afterwards tells nothing new */
};

/* A branch, its outcome and a thread (THREAD_NONE: all): how often, in the trace. */
struct outcome_count {
    uint64_t total, met; /* met: in this walk */
};

/* Values that some write of the trace gives to a piece of memory. */
enum { WRITTEN_MAX = 16, FLIP_ASSUMED_MAX = 8 };
struct written {
    uint64_t values[WRITTEN_MAX];
    uint32_t count;
};

struct flips {
    struct program *program;
    struct tables *tables;
    const struct trace_mem *trace;
    enum flip_pass pass;
    struct sharing *sharing;
    struct map site_of; /* module << 32 | index in its table -> site of the trace */
    struct map words;   /* address / 8 -> number in shadow + 1 */
    struct shadow_word *shadow;
    size_t nshadow, shadow_cap;
    /* What was there before the trace's first write, as far as reads tell (FLIP_LEARN), and what
     * the program's file says: guesses only. */
    struct map early_words; /* address / 8 -> number in early + 1 */
    struct shadow_word *early;
    size_t nearly, early_cap;
    struct firsts first;
    struct held *held; /* of threads */
    size_t nheld;
    struct map counted; /* key of outcome_counts -> number in counts + 1 */
    struct outcome_count *counts;
    size_t ncounts, counts_cap;
    struct map written_at; /* address * 16 + bytes -> number in written + 1 */
    struct written *written;
    size_t nwritten, written_cap;
    /* Reads that found what nobody was seen to write: what they would find otherwise is not known.
     */
    struct map puzzling;
    struct map chosen; /* hash of thread and instruction -> times that other values were tried */
    uint64_t next_id, next_heap;
    struct flip_path *paths;
    size_t npaths, paths_cap;
    struct flip_stats stats;
};

/* A thread that goes another way: a copy of its state, and what it did since. */
struct flip {
    struct flips *all;
    struct walk *w;
    struct thread *t; /* owned */
    struct memory memory;
    struct held held;
    struct map words; /* address / 8 -> number in shadow + 1: what it wrote itself */
    struct shadow_word *shadow;
    size_t nshadow, shadow_cap;
    struct flip_path path;
    size_t events_cap, conditions_cap, pieces_cap;
    size_t base;   /* frames at the branch */
    uint32_t join; /* block where the outcomes meet, in that frame */
    bool joined;
    bool ended;
    bool made_up; /* by flip_is_followed(): an address below was invented */
    struct {
        expr leaf;
        u128 value;
    } assumed[FLIP_ASSUMED_MAX]; /* reads that are taken to see another value (flip_assume.c) */
    size_t nassumed;
    struct map decided;     /* branch instruction -> times in this path */
    uint64_t started;       /* walk_stats.instructions at the last event */
    struct flip_event *now; /* whose step comes next; NULL: none */
    struct work *work;      /* flip_run.c: ways that are still to go */
};

/* flip_state.c */
/* A copy of the thread at a branch, and a copy of a path half way. */
struct flip *flip_new(struct flips *all, struct walk *w, const struct thread *t, uint64_t position,
                      uint64_t outcome);
struct flip *flip_copy(const struct flip *from);
void flip_free(struct flip *f);
void flip_path_release(struct flip_path *p);
struct held *flips_held(struct flips *all, uint32_t thread);

/* flip_run.c: the branch at hand, taken the other way; all paths behind it */
void flip_explore(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                  uint64_t outcome, bool never, bool here_never);

void flip_explore_value(struct flips *all, struct walk *w, struct thread *t, uint64_t position,
                        expr e, u128 value);

/* flip_path.c */
void flip_take_step(void *flip, const struct step *s); /* for walk_options */
void flip_take_branch(struct flip *f, const struct step *s);
bool flip_is_private(void *flip, uint64_t address, uint32_t bytes);
void flip_keep(struct flip *f);
struct flip_event *flip_add(struct flip *f, const struct event *ev);
void flip_condition(struct flip *f, enum condition_kind kind, expr value, u128 recorded);
void flip_stop(struct flip *f, enum flip_end end);
/* Gives the event to the instruction at hand. */
bool flip_feed(struct flip *f, const struct event *ev, unsigned site_kind);
/* Is all that the expression depends on known, or a read? */
bool flip_is_followed(struct flip *f, expr e);
/* The memory at that address as the trace and this path left it. */
bool flip_peek(const struct flip *f, uint64_t at, unsigned bytes, uint64_t *value);
/* What it held at the beginning, probably. */
bool flips_first(const struct flips *all, uint64_t at, unsigned bytes, uint64_t *value);
void flip_poke(struct flip *f, uint64_t at, unsigned bytes, bool known, uint64_t value);
uint64_t flip_allocate(struct flips *all, uint64_t bytes);

bool flip_lock(struct flip *f, uint64_t lock, bool shared);    /* false: it is held by the thread */
bool flip_unlock(struct flip *f, uint64_t lock, bool *shared); /* false: it is not */

/* flip_assume.c */
void written_add(struct flips *all, const struct event *ev);
/* Values other than the present one that it has where one more read sees another value; how many.
 */
enum { OTHER_VALUES_MAX = 3 };
size_t flip_other_values(struct flip *f, expr e, uint64_t values[OTHER_VALUES_MAX]);
/* Assume what makes the expression that value; false: nothing is found. */
bool flip_assume(struct flip *f, expr e, u128 wanted);

/* flip_sites.c */
uint32_t flip_site(struct flips *all, const struct function *f, uint32_t index, unsigned kinds,
                   uint32_t *bytes);
uint32_t flip_function(struct flips *all, const struct function *f);

/* flip_calls.c: the call at hand */
void flip_call(struct flip *f);
void flip_return(struct flip *f);

/* flip_join.c: the immediate post-dominator of each block, CODE_NONE: the function's end */
uint32_t *joins_of(const struct code *c);

/* The operands of an operation (EX_ADD and above), at most three; how many. */
static inline unsigned expr_operands(const struct expr_node *n, expr out[3])
{
    unsigned count = expr_arity((enum expr_op)n->op);

    out[0] = n->a;
    if (count > 1)
        out[1] = n->b;
    if (count > 2)
        out[2] = n->c;
    return count;
}

#endif
