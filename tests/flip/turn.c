/* turn.c - compiled without heddle: see turn.h */
#include "turn.h"
#include <unistd.h>

static int now;

/* flip_first.c: variables that have another value when main begins than their initialiser says. */
extern int first_outside __attribute__((weak)), *first_place __attribute__((weak));

__attribute__((constructor)) static void before_all(void)
{
    if (&first_outside)
        first_outside = 7;
    if (&first_place)
        *first_place = 7;
}

void turn(int n)
{
    while (__atomic_load_n(&now, __ATOMIC_ACQUIRE) < n)
        usleep(100);
}

void turn_end(void)
{
    __atomic_add_fetch(&now, 1, __ATOMIC_RELEASE);
}
