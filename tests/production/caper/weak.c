/* Published by an atomic store that orders nothing: what was done before may race with the reader,
 * though the pointer does not. The run that meets it cannot know by which sites; the next one does.
 * RUNS 2 */
#include <stdatomic.h>
#include "touch.h"
static _Atomic(int *) slot;
TOUCH(touch_before)
TOUCH(touch_after)
static void *worker(void *arg)
{
    int *p = calloc(1, 64);
    touch_before(p); /* ESCAPED touch_before */
    atomic_store_explicit(&slot, p, memory_order_relaxed);
    touch_after(p); /* ESCAPED touch_after */
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
