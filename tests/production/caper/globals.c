/* Globals and thread-local variables are escaped from the beginning; before the first thread
 * nothing is. */
#include "touch.h"
int global;
static int hidden;
TOUCH(touch_early)
TOUCH(touch_global)
TOUCH(touch_static)
TOUCH(touch_heap)
static void *worker(void *arg)
{
    int *mine = malloc(64);
    touch_global(&global); /* ESCAPED touch_global */
    touch_static(&hidden); /* ESCAPED touch_static */
    touch_heap(mine);      /* PRIVATE touch_heap */
    free(mine);
    return arg;
}
int main(void)
{
    touch_early(&global); /* PRIVATE touch_early */
    in_thread(worker, NULL);
    return 0;
}
