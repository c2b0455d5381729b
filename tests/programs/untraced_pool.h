/* untraced_pool.h - threads of an untraced library that run the program's functions
 *
 * All order goes through a spin lock inside; the library's variables are in no D.
 */
#ifndef UNTRACED_POOL_H
#define UNTRACED_POOL_H

void pool_start(int threads);
void pool_push(void (*f)(void *), void *arg); /* some thread will call it */
void pool_wait(void);                         /* until all that was pushed is done */
void pool_stop(void);                         /* and all threads are gone */

/* f(0) .. f(n - 1), each in a new thread; waits for all of them, but joins none. */
void pool_once(void (*f)(void *), int n);

#endif
