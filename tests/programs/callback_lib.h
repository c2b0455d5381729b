/* callback_lib.h - an untraced C++ library that calls back, also under locks of its own making */
#ifndef CALLBACK_LIB_H
#define CALLBACK_LIB_H

#include <setjmp.h>

struct callback_lock;

callback_lock *callback_lock_new();
void callback_run(void *passed, void (*f)(void *), void *arg); /* looks at nothing */
/* What comes behind is behind whatever another thread did before it took the lock here, earlier. */
void callback_between(callback_lock *l, void (*before)(void *), void (*behind)(void *), void *arg);
void callback_locked(callback_lock *l, void (*f)(void *), void *arg);
/* Under the lock; what f throws is caught, and the lock given back. Comes back a moment after. */
void callback_catching(callback_lock *l, void (*f)(void *), void *arg);
/* The same; f jumps. */
void callback_jumping(callback_lock *l, void (*f)(void *, jmp_buf *), void *arg);

#endif
