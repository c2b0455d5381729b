/* untraced.so is compiled without heddle-cc: what it is given may be known to others, and what it
 * allocates and gives us, too. Calls of traced code publish nothing. */
#include "touch.h"
#include "untraced.h"
TOUCH(touch_given)
TOUCH(touch_given_deep)
TOUCH(touch_got)
TOUCH(touch_traced)
TOUCH(touch_pointer)
TOUCH(touch_traced_pointer)
TOUCH(touch_libc)
TOUCH(touch_callback)
static NOINLINE int traced(int *p)
{
    return p[1];
}
static void callback(int *p)
{
    touch_callback(p); /* ESCAPED touch_callback */
}
static int (*volatile traced_pointer)(int *) = traced;
static void (*volatile untraced_pointer)(void *) = untraced_keep;
static void *worker(void *arg)
{
    int *a = calloc(8, 8), *b = calloc(8, 8), *c = calloc(8, 8), *d = calloc(8, 8),
        *e = calloc(8, 8), *f = calloc(8, 8);
    *(int **)(a + 2) = b;
    untraced_keep(a);
    touch_given(a);             /* ESCAPED touch_given */
    touch_given_deep(b);        /* ESCAPED touch_given_deep */
    touch_got(untraced_make()); /* ESCAPED touch_got */
    traced(c);
    touch_traced(c); /* PRIVATE touch_traced */
    traced_pointer(d);
    touch_traced_pointer(d); /* PRIVATE touch_traced_pointer */
    untraced_pointer(e);
    touch_pointer(e); /* ESCAPED touch_pointer */
    memset(f, 0, 64);
    touch_libc(f + memcmp(f, f + 4, 8)); /* PRIVATE touch_libc */
    untraced_call(callback);
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
