// Messages pass through a queue whose only synchronisation are atomic exchanges.
// issue: https://github.com/ponylang/ponyc/pull/1419
// tool: Helgrind
// there: false alarm; it does not know the order that atomic operations give
// verdict: no race; the link of a node is stored with release and loaded with acquire
#include "prog.h"

struct node {
    struct node *next;
    int message;
};
struct node stub, *head = &stub, *tail = &stub, nodes[4];

static void *producer(void *arg)
{
    for (int i = 0; i < 2; i++) {
        struct node *node = (struct node *)arg + i;
        node->message = 1;
        struct node *before = __atomic_exchange_n(&head, node, __ATOMIC_ACQ_REL);
        __atomic_store_n(&before->next, node, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    pthread_t a = start(producer, nodes), b = start(producer, nodes + 2);

    for (int got = 0; got < 4;) {
        struct node *next = __atomic_load_n(&tail->next, __ATOMIC_ACQUIRE);
        if (!next) {
            pause_ms(1);
            continue;
        }
        got += next->message;
        tail = next;
    }
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
