/* exec_inside.h - inside of execution/: what exec_load.c, walk.c, exec.c and exec_calls.c share */
#ifndef HEDDLE_EXECUTION_EXEC_INSIDE_H
#define HEDDLE_EXECUTION_EXEC_INSIDE_H

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "bitcode/code.h"
#include "execution/exec_memory.h"
#include "execution/program.h"
#include "symbol/site_tables.h"

/* ---- the program ---- */

/* Events that an instruction makes, as the site table tells: bits 1 << enum site_kind. */
#define EXPECTS(kind) (1u << (kind))

struct function {
    struct module *module;
    uint32_t index;
    bool decoded;
    bool enters;                    /* has a frame: enter and exit events */
    bool sited;                     /* some instruction of it has a site */
    uint32_t first_site, last_site; /* between which all of its sites are */
    const struct code *code;        /* NULL: not defined here, or there is no bitcode */
    uint16_t *expects;              /* of instructions (not indices) */
    uint8_t *is_private; /* of slots: an alloca or by-value argument that is never recorded */
    expr *consts;        /* 0: not made yet */
    uint32_t *locals;    /* allocas that are recorded: instructions */
    uint32_t nlocals;
    uint32_t *joins; /* of blocks: where the outcomes of its branch meet (flip_join.c); or NULL */
};

struct module {
    const struct sites_header *sites; /* NULL: not found */
    struct bitcode *bitcode;
    bool opened;
    struct function *functions;
    uint32_t nfunctions;
    expr *symbols; /* their addresses, of this walk */
    size_t symbols_cap;
    uint64_t *learned; /* the same as numbers, of an earlier walk; 0: not known */
    size_t learned_cap;
    uint32_t number;
};

/* Where a site of the trace stands in the code. */
struct place {
    uint32_t module; /* number + 1, 0: nowhere */
    uint32_t function, index;
    uint32_t kind; /* enum site_kind */
};

struct program {
    const struct tables *tables;
    const struct bitcode_api *api;
    struct site_tables **files; /* of images */
    bool *file_sought;
    struct module *modules; /* as in the tables */
    struct place *places;   /* of sites */
    uint32_t nplaces;
    struct map entries;      /* function of the trace -> an entry's site; the last with its name */
    uint32_t *next_entry;    /* site -> another entry's site + 1 with the same name */
    struct intern externals; /* functions that modules offer to others, once somebody asked */
    struct function **external; /* of those */
    size_t external_cap;
    bool listed;
    struct image_symbols **image_symbols; /* of images; symbols.c */
    char **notes;
    size_t nnotes, notes_cap;
};

/* Decoded when first asked for; code is NULL where there is none. */
struct function *program_function(struct program *p, struct module *m, uint32_t index);
struct module *program_module(struct program *p, uint32_t number);
/* The function of that name that some module offers to others, or NULL. */
struct function *program_external(struct program *p, const char *name);
/* symbols.c: where it is in the traced process; 0: not known. */
uint64_t program_symbol_address(struct program *p, const struct module *m,
                                const struct code_symbol *s);
/* The same, if no other image can have put its own in the place of that name. */
uint64_t program_symbol_value(struct program *p, const struct module *m,
                              const struct code_symbol *s);
/* The variable or function there, of a module whose code was asked for; false: none is known. */
bool program_object_at(struct program *p, uint64_t address, struct module **m, uint32_t *symbol,
                       uint64_t *start);
void program_symbols_release(struct program *p);
static inline const struct place *program_place(const struct program *p, uint32_t site)
{
    static const struct place nowhere;

    return site < p->nplaces ? &p->places[site] : &nowhere;
}

/* ---- a walk ---- */

enum phase {
    PHASE_NONE,
    PHASE_CALLED,   /* untraced code runs: call, no return yet */
    PHASE_RETURNED, /* its result comes next */
    PHASE_CALLEE,   /* a frame above is what was called */
    PHASE_UNWOUND   /* the frames above were left by an exception or jump */
};

struct frame {
    struct function *f;
    uint32_t base; /* of its slots */
    uint32_t pc;   /* instruction */
    uint32_t block;
    uint32_t entry; /* site of the entry, if several have its name: may be another one */
    uint64_t top;   /* of the private stack, below the frame */
    /* of a memory intrinsic under way: */
    uint64_t done;           /* bytes that events told of */
    uint64_t from_at, to_at; /* addresses that events told, or private ones */
    uint64_t read_position;  /* of the event that read */
    uint8_t phase;           /* enum phase */
    bool root;               /* nobody called it that we know of: a thread, a handler, a callback */
    bool silent;             /* no enter, no exit */
    bool lost;               /* where it is is not known */
    bool fresh;              /* no event of its own yet */
    bool told;               /* of a call: STEP_FIXED was said for its arguments */
    bool read_done;          /* of a memory copy */
};

enum { PENDING_MAX = 16 };
struct thread {
    uint32_t number;
    struct frame *frames;
    size_t depth, frames_cap;
    expr *slots;
    size_t nslots, slots_cap;
    struct private_stack stack;
    uint64_t position; /* of its last event, the one at hand included */
    uint64_t before;   /* of the one before; UINT64_MAX: none */
    /* What must hold for what comes behind its last event: that branch went as it did, what is
     * fixed since. For paths that begin here (flips_value()). */
    struct pending {
        expr e;
        u128 recorded;
        bool is_branch;
    } pending[PENDING_MAX];
    unsigned npending; /* PENDING_MAX + 1: more, or not known: no path can begin */
    uint32_t idle;     /* turns without one */
    expr argument;     /* what its creator passed */
    struct map tls;    /* module << 32 | symbol -> address node: its thread-local variables */
    struct map locals; /* such a node -> where it is in memory, if it is never recorded */
    uint64_t local_top;
    struct step step; /* being put together */
};

struct walk {
    struct program *p;
    struct walk_options options;
    struct exprs x;
    struct thread **threads;
    size_t nthreads, threads_cap;
    struct memory memory; /* of addresses that are private to a thread */
    struct intern names;  /* of external symbols */
    expr *name_address;   /* of those */
    size_t name_address_cap;
    struct map object_symbol; /* address node -> number in objects */
    struct object {
        struct module *module;
        uint32_t symbol;
    } *objects;
    size_t nobjects, objects_cap;
    struct map blocks; /* address node of a block -> its number */
    struct flip *flip; /* what is executed is not in the trace (flip.c); or NULL */
    uint32_t collect_at;
    uint64_t position; /* of the event at hand */
    unsigned complaints;
    struct walk_stats stats;
};

/* The event at hand; `ev` is NULL once it was taken. */
struct now {
    const struct event *ev;
    uint64_t position;
    const struct place *place;
    bool sought; /* a lost frame was put where the event is: it must fit now */
};

enum go {
    GO_ON,    /* the next instruction, or wherever frame.pc is now */
    GO_WAIT,  /* an event is needed */
    GO_OTHER, /* the event at hand is not this instruction's */
    GO_LOST
};

/* walk.c */
void walk_complain(struct walk *w, const struct thread *t, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void walk_step(struct walk *w, struct thread *t, struct now *n, struct step *s); /* takes it */
void walk_fixed(struct walk *w, struct thread *t, expr e);
/* The instruction at hand uses it as an address or calls it: what if it were another (flip.h). */
void walk_other_values(struct walk *w, struct thread *t, const struct now *n, expr e);
/* Compare with the record, or learn from it. */
void walk_check(struct walk *w, struct thread *t, struct walk_tally *tally, const char *what,
                expr e, u128 value);
void walk_push(struct walk *w, struct thread *t, struct function *f);
void walk_pop(struct walk *w, struct thread *t);

/* exec.c */
enum go exec(struct walk *w, struct thread *t, struct frame *fr, struct now *n);
expr operand_value(struct walk *w, struct thread *t, struct frame *fr, uint32_t operand);
expr const_value_of(struct walk *w, struct thread *t, struct module *m, const struct code_const *c);
void set_slot(struct thread *t, const struct frame *fr, uint32_t slot, expr e);
void go_to(struct walk *w, struct thread *t, struct frame *fr, uint32_t block);
expr unknown_value(struct walk *w, unsigned width);
static inline bool is_mine(const struct frame *fr, const struct now *n, uint32_t index)
{
    return n->ev && n->place->module == fr->f->module->number + 1 &&
           n->place->function == fr->f->index && n->place->index == index;
}

/* exec_access.c */
enum go exec_memory(struct walk *w, struct thread *t, struct frame *fr, struct now *n);
/* The private address of what an expression points to; false: it is not private. */
bool private_place(struct walk *w, struct thread *t, expr address, uint64_t *at);

/* exec_calls.c */
enum go exec_call(struct walk *w, struct thread *t, struct frame *fr, struct now *n);
enum go exec_return(struct walk *w, struct thread *t, struct frame *fr, struct now *n);
void enter(struct walk *w, struct thread *t, struct now *n); /* a frame that was not expected */
void leave(struct walk *w, struct thread *t, struct now *n); /* likewise */
void note_fork(struct walk *w, struct thread *t, const struct event *ev);
void land(struct walk *w, struct thread *t, struct frame *fr); /* after frames were left */
/* Of the call at hand; for flip_calls.c. */
const struct code_call *call_of(const struct frame *fr);
const struct code_symbol *callee_symbol(struct walk *w, const struct frame *fr);
expr argument(struct walk *w, struct thread *t, struct frame *fr, uint32_t lane); /* 0: none */
struct function *called_function(struct walk *w, struct thread *t, struct frame *fr);
void call_function(struct walk *w, struct thread *t, struct function *f, bool silent);
void go_past(struct walk *w, struct thread *t, struct frame *fr);
void forget_arguments(struct walk *w, struct thread *t, struct frame *fr);
/* The frame is at a call, and the event may be of a lock function that it calls. */
void learn_lock(struct walk *w, struct thread *t, struct frame *fr, const struct event *ev);

/* walk.c */
void thread_free(struct thread *t);

/* execution.c: of a branch, its condition; of a switch, 1 where the value is that of the outcome's
 * case, or of none. 0: not known. */
expr step_taken(struct exprs *x, const struct step *s);

/* flip_assume.c: the value under what a path assumes */
bool flip_value(struct flip *f, expr x, u128 *v);
/* flip_path.c: the value of what must not change from here on; false: not known, the path ends */
bool flip_fix(struct flip *f, expr e, u128 *value);
/* flip_run.c: a pointer that depends on reads leads elsewhere, too, as branches go both ways; 0:
 * none */
void flip_decide_pointer(struct flip *f, expr e);
/* flip.c: the thread goes to a block */
void flip_went(struct flip *f, const struct thread *t, uint32_t block);
uint64_t flip_local(struct flip *f, uint64_t bytes); /* the address of a variable */

/* arith.c */
expr integer_op(struct exprs *x, enum integer_op op, unsigned width, expr a, expr b, expr c,
                expr *second);
/* What an atomic operation makes of the old value; 0: not followed. */
expr rmw_value(struct exprs *x, enum rmw_op op, expr old, expr operand);

#endif
