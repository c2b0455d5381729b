/* walk.c - a list that is walked again and again, while another thread publishes something new
 * between two walks: the walker acquires news each time, and releases nothing. What it writes to
 * `raced` after the first walk races with the publisher's write after the last one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 1000, WALKS = 50 };

struct node {
    _Atomic(struct node *) next;
    long value;
};

static _Atomic(struct node *) head;
static atomic_int published;
static atomic_int walked; /* relaxed: tells how far the walker is, orders nothing */
int raced;

static void touch(void)
{
    raced++; /* race: with itself */
}

static long walk(void)
{
    long sum = 0;

    for (struct node *n = atomic_load_explicit(&head, memory_order_acquire); n;
         n = atomic_load_explicit(&n->next, memory_order_acquire))
        sum += n->value;
    return sum;
}

static void *walker(void *arg)
{
    long *sum = arg;

    for (int i = 1; i <= WALKS; i++) {
        while (atomic_load_explicit(&published, memory_order_acquire) < i)
            sched_yield();
        *sum += walk();
        touch();
        atomic_store_explicit(&walked, i, memory_order_relaxed);
    }
    return NULL;
}

int main(void)
{
    long sum = 0;
    pthread_t t;

    for (int i = 0; i < NODES; i++) {
        struct node *n = malloc(sizeof(*n));

        n->value = i;
        atomic_init(&n->next, atomic_load_explicit(&head, memory_order_relaxed));
        atomic_store_explicit(&head, n, memory_order_release);
    }
    pthread_create(&t, NULL, walker, &sum);
    for (int i = 1; i <= WALKS; i++) {
        atomic_store_explicit(&published, i, memory_order_release);
        while (atomic_load_explicit(&walked, memory_order_relaxed) < i)
            sched_yield();
    }
    touch();
    pthread_join(t, NULL);
    printf("%ld\n", sum);
    return 0;
}
