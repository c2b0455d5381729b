/* buffer - a bounded buffer; what is handed over is written before and read after, without a lock
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4, ITEMS = 80, PRODUCERS = 2, CONSUMERS = 2 };

struct item {
    int weight, colour;
    int stamp;
};
struct buffer {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct item *slots[SLOTS];
    int head, count;
};
static struct buffer buffer = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0
};
static struct item items[PRODUCERS][ITEMS];
static long weights[CONSUMERS];
static int produced, consumed, heaviest, verbose = -1;
static pthread_t threads[PRODUCERS + CONSUMERS];
static int numbers[PRODUCERS + CONSUMERS];

static void put(struct buffer *b, struct item *it)
{
    pthread_mutex_lock(&b->lock);
    while (b->count == SLOTS)
        pthread_cond_wait(&b->not_full, &b->lock);
    b->slots[(b->head + b->count++) % SLOTS] = it;
    pthread_cond_signal(&b->not_empty);
    pthread_mutex_unlock(&b->lock);
}

static struct item *get(struct buffer *b)
{
    struct item *it;

    pthread_mutex_lock(&b->lock);
    while (b->count == 0)
        pthread_cond_wait(&b->not_empty, &b->lock);
    it = b->slots[b->head];
    b->head = (b->head + 1) % SLOTS;
    b->count--;
    pthread_cond_signal(&b->not_full);
    pthread_mutex_unlock(&b->lock);
    return it;
}

static void fill(struct item *it, int n)
{
    it->weight = n % 17 + 1;
    it->colour = n % 3;
    it->stamp = n;
}

static void weigh(const struct item *it, int who)
{
    weights[who] += it->weight + it->colour;
    if (it->weight > heaviest) /* RACE heaviest */
        heaviest = it->weight; /* RACE heaviest */
}

static void prepare(void)
{
    if (verbose < 0)                   /* RACE verbose */
        verbose = getenv("V") != NULL; /* RACE verbose */
}

static void *produce(void *arg)
{
    int who = *(int *)arg;

    prepare();
    for (int i = 0; i < ITEMS; i++) {
        fill(&items[who][i], i * PRODUCERS + who);
        produced++; /* RACE produced */
        put(&buffer, &items[who][i]);
    }
    return NULL;
}

static void *consume(void *arg)
{
    int who = *(int *)arg - PRODUCERS;

    prepare();
    for (int i = 0; i < ITEMS * PRODUCERS / CONSUMERS; i++) {
        weigh(get(&buffer), who);
        consumed++; /* RACE consumed */
    }
    return NULL;
}

static void start(void)
{
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, &numbers[i]))
            exit(1);
    }
}

static void finish(void)
{
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
}

static void report(void)
{
    printf("%ld\n", weights[0] + weights[1]);
}

int main(void)
{
    start();
    finish();
    report();
    return 0;
}
