/* turn.c - compiled without heddle: see turn.h
 *
 * What untraced code touches is read from its machine code (docs/design/effects.md), and would
 * order the threads. Of system calls that ask for limits it is taken for granted that they order
 * nothing, so two limits that Linux does not heed are the counter and its lock.
 */
#define _GNU_SOURCE
#include "turn.h"
#include <sys/resource.h>
#include <unistd.h>

enum { COUNTER = RLIMIT_MSGQUEUE, LOCK = RLIMIT_LOCKS };

static rlim_t swap(enum __rlimit_resource which, rlim_t value)
{
    struct rlimit old, new;

    getrlimit(which, &new);
    new.rlim_cur = value;
    prlimit(0, which, &new, &old);
    return old.rlim_cur;
}

static rlim_t get(enum __rlimit_resource which)
{
    struct rlimit now;

    getrlimit(which, &now);
    return now.rlim_cur;
}

/* flip_first.c: variables that have another value when main begins than their initialiser says. */
extern int first_outside __attribute__((weak)), *first_place __attribute__((weak));

__attribute__((constructor)) static void before_all(void)
{
    if (&first_outside)
        first_outside = 7;
    if (&first_place)
        *first_place = 7;
}

__attribute__((constructor)) static void begin(void)
{
    swap(COUNTER, 0);
    swap(LOCK, 0);
}

void turn(int n)
{
    while (get(COUNTER) < (rlim_t)n)
        usleep(100);
}

void turn_end(void)
{
    while (swap(LOCK, 1) == 1)
        usleep(100);
    swap(COUNTER, get(COUNTER) + 1);
    swap(LOCK, 0);
}
