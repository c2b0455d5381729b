/* Stack slots: private, published, passed to a thread, and used again by another function. */
#include "touch.h"
static int *volatile shared;
static volatile int sink;
TOUCH(touch_local)
TOUCH(touch_shared_local)
TOUCH(touch_big)
TOUCH(touch_later)
TOUCH(touch_argument)
TOUCH(touch_in_thread)
TOUCH(touch_reached)
static NOINLINE void uses(void)
{
    int local[16] = { sink };
    touch_local(local + 3); /* PRIVATE touch_local */
    sink = local[3];
}
static NOINLINE void publishes(void)
{
    int local[16] = { sink }, *heap = calloc(4, 4);
    int *volatile both[2] = { local, heap };
    shared = (int *)both;
    touch_shared_local(local + 15); /* ESCAPED touch_shared_local */
    touch_reached(heap);            /* ESCAPED touch_reached */
    shared = NULL;
    free(heap);
}
static NOINLINE void again(void)
{
    int local[16] = { sink };
    touch_later(local + 15); /* PRIVATE touch_later */
    sink = local[15];
}
static NOINLINE void big(void)
{
    int local[9000] = { sink };
    touch_big(local + 8999); /* PRIVATE touch_big */
    sink = local[8999];
}
static void *child(void *arg)
{
    touch_in_thread(arg); /* ESCAPED touch_in_thread */
    return NULL;
}
static void *worker(void *arg)
{
    int for_thread = 0;
    uses();
    publishes();
    again();
    big();
    in_thread(child, &for_thread);
    touch_argument(&for_thread); /* ESCAPED touch_argument */
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
