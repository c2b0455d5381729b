/* pool - workers take tasks from a list, main waits for the last one */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 4, TASKS = 120 };

struct task {
    struct task *next;
    int input;
    long result; /* of the worker that has it, then of main */
};
static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    struct task *first;
    int pending, closed;
} pool = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0
};
static struct task tasks[TASKS];
static pthread_t threads[WORKERS];
static int finished, longest, *table;
static long checksum;

static void submit(struct task *t)
{
    pthread_mutex_lock(&pool.lock);
    t->next = pool.first;
    pool.first = t;
    pool.pending++;
    pthread_cond_signal(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

static struct task *take(void)
{
    struct task *t;

    pthread_mutex_lock(&pool.lock);
    while (!pool.first && !pool.closed)
        pthread_cond_wait(&pool.work, &pool.lock);
    t = pool.first;
    if (t)
        pool.first = t->next;
    pthread_mutex_unlock(&pool.lock);
    return t;
}

static void done(void)
{
    pthread_mutex_lock(&pool.lock);
    if (--pool.pending == 0)
        pthread_cond_broadcast(&pool.idle);
    pthread_mutex_unlock(&pool.lock);
}

static void wait_idle(void)
{
    pthread_mutex_lock(&pool.lock);
    while (pool.pending)
        pthread_cond_wait(&pool.idle, &pool.lock);
    pool.closed = 1;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

/* Made by whoever needs it first: not safely. */
static int look_up(int i)
{
    if (!table) { /* RACE table */
        int *t = malloc(64 * sizeof(*t));

        for (int k = 0; k < 64; k++)
            t[k] = k * k % 31; /* RACE entries! */
        table = t;             /* RACE table */
    }
    return table[i % 64]; /* RACE table, RACE entries */
}

static void compute(struct task *t)
{
    long r = t->input;

    for (int i = 0; i < 5; i++)
        r = r * 7 + look_up((int)(r & 63));
    t->result = r;
}

static void account(const struct task *t)
{
    finished++;             /* RACE finished */
    checksum ^= t->result;  /* RACE checksum */
    if (t->input > longest) /* RACE longest */
        longest = t->input; /* RACE longest */
}

static void *work(void *arg)
{
    struct task *t;

    while ((t = take())) {
        compute(t);
        account(t);
        done();
        usleep(200); /* the others get some, too */
    }
    return arg;
}

static void start(void)
{
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            exit(1);
}

static void hand_out(void)
{
    for (int i = 0; i < TASKS; i++) {
        tasks[i].input = i * 3 + 1;
        submit(&tasks[i]);
    }
}

static long collect(void)
{
    long sum = 0;

    for (int i = 0; i < TASKS; i++)
        sum += tasks[i].result;
    return sum;
}

static void finish(void)
{
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    start();
    hand_out();
    wait_idle();
    printf("%ld\n", collect());
    finish();
    return 0;
}
