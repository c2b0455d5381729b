#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>
struct node {
    struct node *_Atomic next;
    atomic_int in_use;
};
static struct node nodes[3];
static struct node *_Atomic top;

static void push(struct node *n)
{
    struct node *t;

    do {
        t = atomic_load(&top);
        atomic_store(&n->next, t);
    } while (!atomic_compare_exchange_strong(&top, &t, n));
}

static struct node *pop(void)
{
    struct node *t, *next;

    do {
        t = atomic_load(&top);
        if (!t)
            return NULL;
        next = atomic_load(&t->next);
    } while (!atomic_compare_exchange_strong(&top, &t, next));
    assert(atomic_fetch_add(&t->in_use, 1) == 0);
    return t;
}

static void give(struct node *n)
{
    atomic_fetch_sub(&n->in_use, 1);
    push(n);
}

static void *one(void *arg)
{
    (void)arg;
    pop();
    pop();
    return NULL;
}

static void *two(void *arg)
{
    (void)arg;
    struct node *a = pop();
    pop();
    if (a)
        give(a);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    for (int i = 0; i < 3; i++)
        push(&nodes[i]);
    pthread_create(&t[0], NULL, one, NULL);
    pthread_create(&t[1], NULL, two, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
