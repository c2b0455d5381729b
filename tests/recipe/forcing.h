/* forcing.h - what the scheduler (forcing.c) and the functions it stands in for (forcing_calls.c)
 * share
 *
 * A thread of the program is a task. It stops at points: reach() returns when the schedule lets it
 * pass. One task runs at a time, so nothing here is locked.
 */
#ifndef HEDDLE_TESTS_RECIPE_FORCING_H
#define HEDDLE_TESTS_RECIPE_FORCING_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_TASKS = 64 };

enum op {
    BEGIN,
    READ,
    WRITE,
    ATOMIC,
    LOCK,
    UNLOCK,
    WAIT,
    WAKE,
    CREATE,
    JOIN,
    ARRIVE,
    LEAVE,
    POST,
    TAKE,
    ENDED
};

struct task {
    enum op op; /* what it is about to do */
    int site;   /* -1: a place that the file does not name */
    const char *address;
    size_t size;
    bool writes, woken;
    bool loose;     /* a half of a copy: the trace may not have it (constants, private memory) */
    unsigned round; /* of the barrier it waits for */
    const void *waits_on; /* condition */
    struct task *other;   /* whom it joins */
    sem_t go;
    pthread_t handle;
    void *(*start)(void *);
    void *argument;
    void *result;
};

struct object { /* a lock's owner, a semaphore's count, a barrier's round */
    const void *address;
    const struct task *owner;
    long count;
    unsigned parties, round;
};

extern struct task tasks[MAX_TASKS];
extern int ntasks;
extern _Thread_local struct task *self; /* NULL: the program runs as it likes */

struct task *task_new(void);
/* In a schedule that is followed: `t` is the thread that the step just passed creates. */
void name_thread(const struct task *t);
struct object *object_of(const void *address);
unsigned chance(void);
void give_up(const char *why);

/* Stops before an operation at the return address `pc`. */
void reach(enum op op, const void *pc, const void *address, size_t size, bool writes);
void reach_half(enum op op, const void *pc, const void *address, size_t size, bool writes);
/* Lets another task run: the caller has ended, or waits at a point. */
void run_next(void);

/* The functions themselves; all calls go to __wrap_ ones. */
int __real_sem_init(sem_t *s, int shared, unsigned n);
int __real_sem_post(sem_t *s);
int __real_sem_wait(sem_t *s);
int __real_pthread_create(pthread_t *out, const pthread_attr_t *a, void *(*f)(void *), void *arg);
int __real_pthread_join(pthread_t handle, void **result);

#endif
