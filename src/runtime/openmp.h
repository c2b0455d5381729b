/* openmp.h - regions, tasks and dependences of OpenMP, whichever library runs them
 *
 * openmp.c hears of them from LLVM's library, openmp_gomp.c from gcc's. Each step becomes edges
 * "before" and "after" of an object that is only a number: never used twice, so an edge cannot
 * come from an older region.
 *
 *   parallel region   fork: encountering thread -> implicit tasks; join: those -> the thread
 *   barrier           all that enter -> all that leave. Two objects take turns: a thread can enter
 *                     the next barrier before others have left this one, but not the one after.
 *                     Tasks that end while their thread waits in a barrier are before it ends.
 *   task              created -> begins; ends -> the parent's taskwait, the taskgroup's end
 *   depend            by address among the children of a task: out -> in and out, in -> out
 *
 * Concurrency: a node belongs to the task that runs, or is being created; the list of unused ones
 * has a lock. What a thread is in is thread-local.
 */
#ifndef HEDDLE_RUNTIME_OPENMP_H
#define HEDDLE_RUNTIME_OPENMP_H

#include "runtime/interpose.h"
#include "runtime/rt.h"

/* ---- objects ---- */

/* Numbers of OpenMP's objects begin here: no address of a program lies just above it. */
#define OPENMP_KEYS (UINT64_C(1) << 46)

/* Parts of a region, a task or a group: the low bits of a key. */
enum openmp_part { REGION_FORK, REGION_JOIN, REGION_BARRIER, REGION_ORDERED = 4, PARTS = 8 };
enum { TASK_START, TASK_CHILDREN, TASK_MOVED };

HIDDEN uint64_t openmp_new_id(void);
HIDDEN uint64_t openmp_key(uint64_t id, unsigned part);
HIDDEN uint64_t openmp_place(const void *code); /* NULL: in the runtime */
/* The object of the `ordered` blocks of the loop that the thread is in. */
HIDDEN uint64_t openmp_ordered(void);

/* ---- what this thread is in ---- */

extern HIDDEN _Thread_local uint64_t openmp_region __attribute__((tls_model("initial-exec")));
/* The object that lets others out of the barrier it waits in. */
extern HIDDEN _Thread_local uint64_t openmp_waits __attribute__((tls_model("initial-exec")));
/* The taskgroup that it ends next adds up a team's reduction. */
extern HIDDEN _Thread_local bool openmp_sums __attribute__((tls_model("initial-exec")));

/* ---- tasks: nodes of one size; a task's dependences are a chain of further nodes ---- */

enum { DEPENDENCES = 3 };

struct openmp_node {
    union {
        struct {
            uint64_t id;
            uint64_t parent;                 /* its id; 0: none, or not waited for */
            uint64_t group;                  /* id of the taskgroup it is in */
            struct openmp_node *groups;      /* taskgroups that it has begun */
            struct openmp_node *dependences; /* a chain */
            uint64_t outer; /* implicit task: region of the thread before; group: outer's */
            uint64_t waited_outside;    /* openmp_waits before a barrier */
            uint32_t barriers;          /* that it went through */
            bool started, untied, sums; /* sums: a taskgroup, openmp_sums */
        };
        struct {
            uint64_t key[DEPENDENCES]; /* of readers; | 1: of writers */
            bool out[DEPENDENCES];
            uint32_t count;
        } on;
    };
    struct openmp_node *next; /* in the list, or of a chain */
};

extern HIDDEN struct rt_lock openmp_lock; /* unused nodes */

HIDDEN struct openmp_node *openmp_node(void); /* NULL: no memory */
HIDDEN void openmp_task_free(struct openmp_node *task);

/* Created by `parent`, or by nobody known; NULL: no memory. */
HIDDEN struct openmp_node *openmp_task_new(const struct openmp_node *parent, uint64_t where);
HIDDEN void openmp_task_begins(struct openmp_node *task);
HIDDEN void openmp_task_ends(struct openmp_node *task);

/* The address NULL stands for all memory. */
HIDDEN void openmp_depends(struct openmp_node *task, const void *address, bool out);
HIDDEN void openmp_depends_begin(const struct openmp_node *task); /* its turn has come */

HIDDEN void openmp_enter(struct openmp_node *task, uint64_t object, uint64_t where);
HIDDEN void openmp_barrier(struct openmp_node *task, bool begins, uint64_t where);
HIDDEN void openmp_taskgroup(struct openmp_node *task, bool begins, uint64_t where);

#endif
