/* untraced_hidden.h - locks, flags and queues of a library that is not traced */
#ifndef UNTRACED_HIDDEN_H
#define UNTRACED_HIDDEN_H

#include <pthread.h>

struct hidden_lock *hidden_lock_new(void);
void hidden_take(struct hidden_lock *l);
void hidden_drop(struct hidden_lock *l);
void hidden_locked(struct hidden_lock *l, void (*f)(void *), void *arg);

struct hidden_flag *hidden_flag_new(void);
void hidden_set(struct hidden_flag *f);
void hidden_await(struct hidden_flag *f);
void hidden_pass_on(struct hidden_flag *from, struct hidden_flag *to); /* await, set */
void hidden_meet(struct hidden_flag *mine, struct hidden_flag *other); /* set, await */
void hidden_call_and_set(void (*f)(void), int *flag);
void hidden_await_and_call(int *flag, void (*f)(void));

struct hidden_queue *hidden_queue_new(void);
void hidden_push(struct hidden_queue *q, void *data);
void *hidden_pop(struct hidden_queue *q); /* waits for one */

int hidden_is_alive(pthread_t t);

struct hidden_thing *hidden_thing_new(unsigned kind);
void hidden_use(struct hidden_thing *t);

/* A lock that nobody passes. */
extern int hidden_global;
void hidden_take_global(void);
void hidden_drop_global(void);

#endif
