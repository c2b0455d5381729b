/* pipeline - three stages, rings of atomics between them; progress is counted anyhow */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 8, BLOCKS = 60, WORDS = 6 };

struct block {
    int words[WORDS];
    int sum;
};
struct ring {
    struct block *slots[SLOTS];
    atomic_uint head, tail;
};
static struct ring first, second;
static struct block blocks[BLOCKS];
static int progress[3], slowest, total;
static pthread_t threads[3];

static void push(struct ring *r, struct block *b)
{
    unsigned tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    while (tail - atomic_load_explicit(&r->head, memory_order_acquire) == SLOTS)
        sched_yield();
    r->slots[tail % SLOTS] = b;
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

static struct block *pop(struct ring *r)
{
    unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);
    struct block *b;

    while (atomic_load_explicit(&r->tail, memory_order_acquire) == head)
        sched_yield();
    b = r->slots[head % SLOTS];
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return b;
}

static void read_block(struct block *b, int n)
{
    for (int i = 0; i < WORDS; i++)
        b->words[i] = n * i % 23;
}

static void sum_block(struct block *b)
{
    b->sum = 0;
    for (int i = 0; i < WORDS; i++)
        b->sum += b->words[i];
}

static void write_block(const struct block *b)
{
    total += b->sum % 7; /* of the last stage */
}

static void note(int stage)
{
    progress[stage]++; /* RACE progress! */
}

static void compare(int stage)
{
    if (progress[stage] < progress[slowest]) /* RACE progress, RACE slowest */
        slowest = stage;                     /* RACE slowest */
}

static void *reader(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) {
        read_block(&blocks[i], i);
        note(0);
        push(&first, &blocks[i]);
        compare(0);
    }
    return arg;
}

static void *adder(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct block *b = pop(&first);

        sum_block(b);
        note(1);
        push(&second, b);
        compare(1);
    }
    return arg;
}

static void *writer(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) {
        write_block(pop(&second));
        note(2);
        compare(2);
    }
    return arg;
}

static void start(void)
{
    if (pthread_create(&threads[0], NULL, reader, NULL) ||
        pthread_create(&threads[1], NULL, adder, NULL) ||
        pthread_create(&threads[2], NULL, writer, NULL))
        exit(1);
}

static void finish(void)
{
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void report(void)
{
    printf("%d\n", total);
}

int main(void)
{
    start();
    finish();
    report();
    return 0;
}
