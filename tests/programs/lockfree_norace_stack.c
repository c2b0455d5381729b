// A lock-free stack that is pushed by two threads and taken whole by main.
// gcc: also
#include "prog.h"

struct node {
    struct node *next;
    int value;
} *top;

THREAD(push)
{
    for (int i = 0; i < 20; i++) {
        struct node *n = malloc(sizeof(*n));
        n->value = 1;
        n->next = __atomic_load_n(&top, __ATOMIC_RELAXED);
        while (
            !__atomic_compare_exchange_n(&top, &n->next, n, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
    }
    return NULL;
}

int main(void)
{
    pthread_t a = start(push, NULL), b = start(push, NULL);
    for (int got = 0; got < 40; sched_yield()) {
        struct node *n = __atomic_exchange_n(&top, NULL, __ATOMIC_ACQUIRE), *next;
        for (; n; n = next) {
            next = n->next;
            got += n->value;
            free(n);
        }
    }
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
