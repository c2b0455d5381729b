/* Published through a global, an escaped object, a chain of private ones, an atomic, the middle. */
#include <stdatomic.h>
#include "touch.h"
struct node {
    struct node *next;
    int value, pad[10];
};
static struct node *root, *inside[4];
static _Atomic(struct node *) slot;
static _Atomic(struct node *) swapped;
static int *middle;
static void *hidden_low_bits;
TOUCH(touch_before)
TOUCH(touch_after)
TOUCH(touch_deep)
TOUCH(touch_deep_before)
TOUCH(touch_array)
TOUCH(touch_atomic)
TOUCH(touch_swapped)
TOUCH(touch_middle)
TOUCH(touch_tagged)
TOUCH(touch_into)
TOUCH(touch_never)
static struct node *fresh(struct node *next)
{
    struct node *n = calloc(1, sizeof *n);
    n->next = next;
    return n;
}
static void *worker(void *arg)
{
    struct node *n = fresh(NULL), *deep = fresh(NULL), *list = deep, *a = fresh(NULL),
                *b = fresh(NULL), *c = fresh(NULL), *d = fresh(NULL), *e = fresh(NULL),
                *into = fresh(NULL), *never = fresh(NULL), *expected = NULL;
    touch_before(&n->value); /* PRIVATE touch_before */
    root = n;
    touch_after(&n->value); /* ESCAPED touch_after */
    for (int i = 0; i < 1000; i++)
        list = fresh(list);
    touch_deep_before(&deep->value); /* PRIVATE touch_deep_before */
    root->next = list;
    touch_deep(&deep->value); /* ESCAPED touch_deep */
    inside[2] = a;
    touch_array(&a->value); /* ESCAPED touch_array */
    atomic_store_explicit(&slot, b, memory_order_release);
    touch_atomic(&b->value); /* ESCAPED touch_atomic */
    atomic_compare_exchange_strong(&swapped, &expected, c);
    touch_swapped(&c->value); /* ESCAPED touch_swapped */
    middle = &d->pad[3];
    touch_middle(&d->value); /* ESCAPED touch_middle */
    hidden_low_bits = (void *)((unsigned long)e | 3);
    touch_tagged(&e->value); /* ESCAPED touch_tagged */
    n->next->next = into;
    touch_into(&into->value);   /* ESCAPED touch_into */
    touch_never(&never->value); /* PRIVATE touch_never */
    return arg;
}
int main(void)
{
    in_thread(worker, NULL);
    return 0;
}
