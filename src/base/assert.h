/* assert.h - what must hold whatever the input is
 *
 * An invariant is about our own state: where it does not hold, we have a bug, and a verdict that
 * rests on it may be wrong. So the process ends with code 128 and a message that names the place,
 * what was being read, and what to do. Invariants stand at the boundaries of modules, where a
 * violation would become a wrong verdict, and stay in release builds (meson option `invariants`);
 * their cost is measured (docs/design/checking.md). What comes from outside (files, stores,
 * command lines) is never subject of one: it is checked, and refused with a message.
 *
 * Never in code that runs inside the target program: src/runtime does not include this.
 * Concurrency: any thread; the first one that fails speaks.
 */
#ifndef HEDDLE_BASE_ASSERT_H
#define HEDDLE_BASE_ASSERT_H

#include <stdbool.h>

#ifdef HEDDLE_NO_INVARIANTS
#define INVARIANTS 0
#else
#define INVARIANTS 1
#endif

/* The condition must be true and free of side effects; it is compiled, but not evaluated, where
 * invariants are off. */
#define invariant(condition)                                                                       \
    ((void)(!INVARIANTS || __builtin_expect(!!(condition), 1) ||                                   \
            (invariant_failed(__FILE__, __LINE__, __func__, #condition), 0)))

/* What is being read from here on (a trace's path), for the message; copied. NULL: nothing. */
void invariant_subject(const char *path);

_Noreturn void invariant_failed(const char *file, int line, const char *function,
                                const char *condition) __attribute__((cold));

#endif
