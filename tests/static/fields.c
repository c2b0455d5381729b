// Fields of a structure are told apart, elements of an array are not, fields of elements are.
// never: head tail
// pair: head head2
// pair: element element2
// never: left right
#include <pthread.h>
#include <stdlib.h>

struct queue {
    long head, tail;
    int slots[16];
};
struct point {
    int left, right;
};

static struct queue *q;
static struct point points[10];

__attribute__((noinline)) static void put(struct queue *p, int i)
{
    p->head++;          // [head]
    p->slots[i] = i;    // [element]
    points[i].left = i; // [left]
}

__attribute__((noinline)) static int get(struct queue *p, int i)
{
    p->tail++;               // [tail]
    points[i + 1].right = 4; // [right]
    return p->slots[i + 3];  // [element2]
}

static void *work(void *arg)
{
    return (void *)(q->head + get(q, *(int *)arg)); // [head2]
}

int main(int argc, char **argv)
{
    pthread_t t;

    (void)argv;
    q = calloc(1, sizeof(*q));
    pthread_create(&t, NULL, work, &argc);
    put(q, argc);
    pthread_join(t, NULL);
    return 0;
}
