/* untraced_state.h - a library that is not traced and keeps its state to itself: no pointer that
 * its callers pass leads to what orders them */
#ifndef UNTRACED_STATE_H
#define UNTRACED_STATE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- in statics ---- */
void state_lock(void); /* a spin lock */
void state_unlock(void);
void state_mutex_lock(void); /* of the C library */
void state_mutex_unlock(void);
extern int state_exported;
void state_set(void); /* a flag; state_exported is another */
void state_wait(void);
void state_set_exported(void);
void state_wait_exported(void);
void state_wake(void); /* a futex */
void state_sleep(void);
int state_sum(int a, int b); /* no state at all */

/* ---- by handles ---- */
int state_open(void);
void state_set_handle(int handle);
void state_wait_handle(int handle);

/* ---- by a pointer that was passed before ---- */
struct state_flag;
struct state_flag *state_flag_new(void);
void state_flag_set(struct state_flag *f);
void state_flag_wait(struct state_flag *f);
void state_keep(struct state_flag *f); /* in a static */
void state_fire(void);
struct state_hub;
struct state_hub *state_hub_new(void);
void state_hub_keep(struct state_hub *h, struct state_flag *f); /* on the heap */
void state_hub_fire(struct state_hub *h);
void state_bind(struct state_flag *f); /* in a thread-local variable */
void state_fire_bound(void);
void state_bind_key(struct state_flag *f); /* in thread-specific data */
void state_fire_key(void);
void state_table_keep(int slot, struct state_flag *f); /* in a list behind a static */
void state_table_fire(int slot);

/* ---- by the kernel, unseen ---- */
void state_pipe(int fds[2]);
void state_send(int fd);
void state_receive(int fd);
void state_send_inline(int fd); /* by an instruction, not by syscall() */
void state_receive_inline(int fd);
int state_event(void);
int state_timer(void); /* that goes off at once */

/* ---- by functions ---- */
void state_call_set(void); /* through a table of pointers */
void state_call_wait(void);
void state_with_lock(void (*f)(void *), void *arg);
void state_pool_run(int jobs); /* counts jobs down */
void state_pool_done(void);
void state_pool_wait(void);

/* ---- of another library, which calls this one (untraced_relay.c) ---- */
void relay_set(void);
void relay_wait(void);

/* ---- in C++ (untraced_state_cxx.cc) ---- */
void state_cxx_lock(void);
void state_cxx_unlock(void);
void state_cxx_set(void);
void state_cxx_wait(void);
void state_cxx_notify(int channel);
void state_cxx_await(int channel);

#ifdef __cplusplus
}
#endif

#endif
