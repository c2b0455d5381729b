// A stack by compare-and-swap: a node's next pointer is read while it is pushed again.
// issue: https://github.com/google/sanitizers/issues/1718
// tool: ThreadSanitizer
// there: unusable report; its user took the report about a simple lock-free stack for a false
//   alarm
// verdict: race; `next` is plain, the node was popped and pushed by the other thread (ABA)
// race: read write
// may: write write
#include "prog.h"

struct node {
    struct node *next;
} node, *head = &node;
int loaded, pushed;

static struct node *pop(int waits)
{
    struct node *top = __atomic_load_n(&head, __ATOMIC_ACQUIRE);

    if (waits) {
        tell(&loaded);
        await(&pushed);
    }
    struct node *next = top->next; // [read]
    __atomic_compare_exchange_n(&head, &top, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return top;
}

THREAD(slow)
{
    USE(pop(1));
    return NULL;
}

THREAD(quick)
{
    await(&loaded);
    struct node *mine = pop(0);
    mine->next = NULL; // [write]
    __atomic_store_n(&head, mine, __ATOMIC_RELEASE);
    tell(&pushed);
    return NULL;
}

int main(void)
{
    run_two(slow, quick);
    return 0;
}
