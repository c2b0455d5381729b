/* Published by atomic stores that order what was done before, themselves or by something else: a
 * fence, the creation of the first thread, the publication of what points to it. RUNS 2 */
#include <stdatomic.h>
#include "touch.h"
struct node {
    _Atomic(struct node *) next;
    int value, pad[12];
};
static _Atomic(struct node *) slot[8];
TOUCH(touch_before_threads)
TOUCH(touch_before_release)
TOUCH(touch_before_fence)
TOUCH(touch_before_exchange)
TOUCH(touch_before_compare)
TOUCH(touch_before_chain)
TOUCH(touch_after_chain)
static struct node *fresh(void)
{
    return calloc(1, sizeof(struct node));
}
static void *worker(void *arg)
{
    struct node *a = fresh(), *b = fresh(), *c = fresh(), *d = fresh(), *e = fresh(), *f = fresh(),
                *none = NULL;
    touch_before_release(&a->value); /* PRIVATE touch_before_release */
    atomic_store_explicit(&slot[1], a, memory_order_release);
    touch_before_fence(&b->value); /* PRIVATE touch_before_fence */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&slot[2], b, memory_order_relaxed);
    touch_before_exchange(&c->value); /* PRIVATE touch_before_exchange */
    atomic_exchange_explicit(&slot[3], c, memory_order_acq_rel);
    touch_before_compare(&d->value); /* PRIVATE touch_before_compare */
    atomic_compare_exchange_strong_explicit(&slot[4], &none, d, memory_order_release,
                                            memory_order_relaxed);
    touch_before_chain(&e->value); /* PRIVATE touch_before_chain */
    atomic_store_explicit(&f->next, e, memory_order_relaxed);
    atomic_store_explicit(&slot[5], f, memory_order_release);
    touch_after_chain(&e->value); /* ESCAPED touch_after_chain */
    return arg;
}
int main(void)
{
    struct node *first = fresh();
    touch_before_threads(&first->value); /* PRIVATE touch_before_threads */
    atomic_store_explicit(&slot[0], first, memory_order_relaxed);
    in_thread(worker, NULL);
    return 0;
}
