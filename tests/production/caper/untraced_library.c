/* Compiled without heddle-cc. */
#include <stdlib.h>
#include "untraced.h"
static void *kept;
static int *made;
void untraced_keep(void *p)
{
    kept = p;
}
int *untraced_make(void)
{
    made = malloc(64);
    *made = kept != NULL;
    return made;
}
void untraced_call(void (*f)(int *))
{
    int local[4] = { 0 };
    made = local;
    f(local);
    made = NULL;
}
