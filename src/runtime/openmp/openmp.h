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
 *   task              created -> begins; ends -> the parent's taskwait, the taskgroup's end. A task
 *                     is a thread of the trace (openmp_logical.c).
 *   depend            by address among the children of a task: out -> in and out, in -> out
 *
 * Objects are as many as tasks, up to a limit: from then on all tasks that a thread creates have
 * the same ones. That is more order than there is, never less.
 *
 * Concurrency: a node belongs to the task that runs, or is being created; the list of unused ones
 * has a lock. What a thread is in is thread-local.
 */
#ifndef HEDDLE_RUNTIME_OPENMP_OPENMP_H
#define HEDDLE_RUNTIME_OPENMP_OPENMP_H

#include "runtime/interpose/interpose.h"
#include "runtime/core/rt.h"

/* ---- objects ---- */

/* Numbers of OpenMP's objects begin here: no address of a program lies just above it. */
#define OPENMP_KEYS (UINT64_C(1) << 46)

/* Parts of a region, a task or a group: the low bits of a key. */
enum openmp_part { REGION_FORK, REGION_JOIN, REGION_BARRIER, REGION_ORDERED = 4, PARTS = 8 };
enum { TASK_START, TASK_CHILDREN, TASK_MOVED };
enum { OWN_THINGS, OWN_TASKS, OWN_TURN }; /* of a system's thread: openmp_logical.c */

HIDDEN uint64_t openmp_new_id(void);
HIDDEN uint64_t openmp_key(uint64_t id, unsigned part);
HIDDEN uint64_t openmp_place(const void *code); /* NULL: in the runtime */
/* The object of the `ordered` blocks of the loop that the thread is in. */
HIDDEN uint64_t openmp_ordered(void);

/* ---- what this thread is in ---- */

struct openmp_node;

extern HIDDEN _Thread_local uint64_t openmp_region __attribute__((tls_model("initial-exec")));
/* The thread's implicit task; libgomp: not known. */
extern HIDDEN _Thread_local struct openmp_node *openmp_implicit
    __attribute__((tls_model("initial-exec")));
/* Threads of the team; 0: not known. */
extern HIDDEN _Thread_local unsigned openmp_team __attribute__((tls_model("initial-exec")));
/* The object that lets others out of the barrier it waits in. */
extern HIDDEN _Thread_local uint64_t openmp_waits __attribute__((tls_model("initial-exec")));
/* The plugin told of the memory of the task that it creates next. */
extern HIDDEN _Thread_local bool openmp_allocated __attribute__((tls_model("initial-exec")));
/* The taskgroup that it ends next adds up a team's reduction. */
extern HIDDEN _Thread_local bool openmp_sums __attribute__((tls_model("initial-exec")));

/* ---- tasks: nodes of one size; a task's dependences are a chain of further nodes ---- */

enum { DEPENDENCES = 3 };

/* What a task does to what it depends on. Those of one kind are not ordered among each other, but
 * writers: of two that exclude each other, or are of a set, either may be first. */
enum openmp_access { OPENMP_READS, OPENMP_WRITES, OPENMP_EXCLUDES, OPENMP_IN_SET, ACCESSES };

struct openmp_logical;

struct openmp_node {
    union {
        struct {
            uint64_t id;
            uint64_t parent;                 /* its id; 0: none, or not waited for */
            uint64_t group;                  /* id of the taskgroup it is in */
            struct openmp_node *groups;      /* taskgroups that it has begun */
            struct openmp_node *dependences; /* a chain */
            uint64_t outer; /* implicit task: region of the thread before; group: outer's */
            uint64_t waited_outside;                  /* openmp_waits before a barrier */
            uint64_t region, where;                   /* where it was created */
            struct openmp_logical *logical, *resumed; /* that it runs in, that goes on after it */
            struct rt_thread *before;                 /* the same, of the trace */
            uintptr_t top;                            /* of its stack */
            void *memory;                             /* the library's own copy of a task */
            uint64_t bytes;
            uint32_t process;
            uint32_t barriers;   /* that it went through; a loop: chunks that it ran */
            uint32_t outer_team; /* implicit task */
            struct openmp_node *outer_task;
            bool started, untied, sums; /* sums: a taskgroup, openmp_sums */
            bool undeferred, final;
            bool shares; /* its objects with others */
            bool copied;
        };
        struct {
            uint64_t key[DEPENDENCES]; /* of readers; | other kinds of access */
            uint8_t how[DEPENDENCES];
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
/* The frames that it will have are below `top`. */
HIDDEN void openmp_task_begins(struct openmp_node *task, const void *top);
HIDDEN void openmp_task_ends(struct openmp_node *task);
HIDDEN void openmp_task_fulfilled(struct openmp_node *task); /* after its end, by anybody */

/* The address NULL stands for all memory. */
HIDDEN void openmp_depends(struct openmp_node *task, const void *address, enum openmp_access how);
HIDDEN void openmp_depends_begin(const struct openmp_node *task); /* its turn has come */

/* ---- logical threads (openmp_logical.c) ---- */

/* `name`: always the same pointer for one kind. */
extern HIDDEN const char openmp_task_name[];
HIDDEN void openmp_logical_enter(struct openmp_node *task, const void *top, const char *name);
HIDDEN void openmp_logical_leave(struct openmp_node *task);
/* A task ended that nobody waits for yet; the thread comes to a barrier, where it does; has left
 * it. */
HIDDEN void openmp_ended_outside(const struct openmp_node *task, uint64_t where);
HIDDEN void openmp_waits_for_own(uint64_t where);
HIDDEN void openmp_after_barrier(void);
HIDDEN void openmp_forked(void);
HIDDEN void openmp_chunks_forked(void); /* openmp_chunks.c */

HIDDEN void openmp_enter(struct openmp_node *task, uint64_t object, uint64_t where);
/* What the team has let go with its last barrier, or when it began. */
HIDDEN uint64_t openmp_behind(const struct openmp_node *implicit);
HIDDEN void openmp_barrier(struct openmp_node *task, bool begins, uint64_t where);
HIDDEN void openmp_taskgroup(struct openmp_node *task, bool begins, uint64_t where);

#endif
