/* Memory that is freed and allocated again is private again; what untraced code has, is not. */
#include "touch.h"
static int *volatile shared;
TOUCH(touch_again)
TOUCH(touch_again_escaped)
TOUCH(touch_environment)
TOUCH(touch_other_stack)
static void *worker(void *arg)
{
    for (int i = 0; i < 100; i++) {
        int *p = malloc(64);
        p[0] = i;
        touch_again(p); /* PRIVATE touch_again */
        shared = p;
        touch_again_escaped(p); /* ESCAPED touch_again_escaped */
        shared = NULL;
        free(p);
    }
    touch_environment((int *)getenv("PATH")); /* ESCAPED touch_environment */
    return arg;
}
static void *first(void *arg)
{
    int local[64] = { 0 };
    shared = local;
    local[5] = 1;
    shared = NULL;
    return arg;
}
/* Most likely on the stack that `first` had. */
static void *second(void *arg)
{
    int local[64] = { 0 };
    touch_other_stack(local + 5); /* PRIVATE touch_other_stack */
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    in_thread(first, NULL);
    in_thread(second, NULL);
    return 0;
}
