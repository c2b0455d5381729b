/* cuts.c - programs without a race, to be cut off while they run
 *
 *     cuts KIND ROUNDS [race]
 *
 * KIND  idle   one busy thread; main and ten others sleep, who hold what it depends on
 *       pool   a thread pool: main feeds it through a queue, most of it sleeps
 *       blocks blocks of memory go from thread to thread, and are freed and allocated again
 *       mixed  barriers, semaphores, readers and writers, atomic flags, short threads
 *       short  threads that live for one step, a few at a time
 *       many   two hundred threads which take turns, all but one asleep
 *       procs  three processes of the kind pool
 *       forks  children of the kind pool, one after the other
 * ROUNDS says for how long, 0 for ever. With `race` two threads race before all that.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static long rounds, table[512], raced;
static int over;

static pthread_t start(void *(*run)(void *), uintptr_t arg)
{
    pthread_t t;

    if (pthread_create(&t, NULL, run, (void *)arg))
        abort();
    return t;
}

/* ---- idle ---- */

static void *sleeper(void *arg)
{
    pthread_mutex_lock(&lock);
    table[(uintptr_t)arg]++;
    while (!over)
        pthread_cond_wait(&wake, &lock);
    table[(uintptr_t)arg]++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *worker(void *arg)
{
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        for (int k = 0; k < 8; k++)
            table[(i * 7 + k * 13) % 512] += (intptr_t)arg;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void idle(void)
{
    pthread_t sleepers[10], busy;

    for (unsigned i = 0; i < 10; i++)
        sleepers[i] = start(sleeper, i);
    busy = start(worker, 1);
    pthread_join(busy, NULL);
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < 10; i++)
        pthread_join(sleepers[i], NULL);
}

/* ---- pool ---- */

struct job {
    struct job *next;
    long input, output;
};
static struct job *jobs;
static int queued;

static void *serve(void *arg)
{
    long own = (intptr_t)arg;

    for (;;) {
        struct job *j;

        pthread_mutex_lock(&lock);
        while (!jobs && !over)
            pthread_cond_wait(&wake, &lock);
        j = jobs;
        if (j) {
            jobs = j->next;
            queued--;
            pthread_cond_signal(&room);
        }
        pthread_mutex_unlock(&lock);
        if (!j)
            return NULL;
        for (int k = 0; k < 5; k++)
            own = own * 31 + j->input;
        j->output = own;
        free(j);
    }
}

static void pool(void)
{
    pthread_t threads[12];

    for (unsigned i = 0; i < 12; i++)
        threads[i] = start(serve, i);
    for (long i = 0; i < rounds; i++) {
        struct job *j = calloc(1, sizeof(*j));

        j->input = i;
        pthread_mutex_lock(&lock);
        while (queued > 8)
            pthread_cond_wait(&room, &lock);
        j->next = jobs;
        jobs = j;
        queued++;
        pthread_cond_signal(&wake);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < 12; i++)
        pthread_join(threads[i], NULL);
}

/* ---- blocks ---- */

static _Atomic(long *) slots[4];

static void *pass_blocks(void *arg)
{
    for (long i = 0; i < rounds; i++) {
        long *mine = malloc(64), *other;

        memset(mine, (int)i, 64);
        mine[1] = (intptr_t)arg;
        other = atomic_exchange(&slots[i % 4], mine);
        if (other) {
            other[2] += other[1];
            free(other);
        }
    }
    return NULL;
}

static void blocks(void)
{
    pthread_t threads[3];

    for (unsigned i = 0; i < 3; i++)
        threads[i] = start(pass_blocks, i);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- mixed ---- */

static pthread_barrier_t barrier;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t turn;
static atomic_int flag;
static long cells[3], published, short_sum;

static void *one_more(void *arg)
{
    ++*(long *)arg;
    return NULL;
}

static void *mix(void *arg)
{
    uintptr_t me = (uintptr_t)arg;

    for (long i = 0; i < rounds / 8; i++) {
        cells[me] = i;
        pthread_barrier_wait(&barrier);
        short_sum += me == 0 ? cells[(me + 1) % 3] + cells[2] : 0;
        pthread_barrier_wait(&barrier);
        if (me == 0) {
            published = i;
            atomic_store_explicit(&flag, (int)i + 1, memory_order_release);
        } else if (atomic_load_explicit(&flag, memory_order_acquire) == (int)i + 1) {
            cells[me] += published;
        }
        pthread_barrier_wait(&barrier);
        if (me == 1)
            pthread_rwlock_wrlock(&rw);
        else
            pthread_rwlock_rdlock(&rw);
        table[me] += me == 1 ? ++table[100] : table[100];
        pthread_rwlock_unlock(&rw);
        sem_wait(&turn);
        table[200]++;
        sem_post(&turn);
        if (i % 64 == 0) {
            long local = 0;

            pthread_join(start(one_more, (uintptr_t)&local), NULL);
            cells[me] += local;
        }
    }
    return NULL;
}

static void mixed(void)
{
    pthread_t threads[3];

    pthread_barrier_init(&barrier, NULL, 3);
    sem_init(&turn, 0, 1);
    for (unsigned i = 0; i < 3; i++)
        threads[i] = start(mix, i);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- short ---- */

static void *step(void *arg)
{
    ++*(long *)arg;
    pthread_mutex_lock(&lock);
    table[0]++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *begin_steps(void *arg)
{
    long mine[4] = { 0 };
    pthread_t steps[4];

    for (int k = 0; k < 4; k++)
        steps[k] = start(step, (uintptr_t)&mine[k]);
    for (int k = 0; k < 4; k++)
        pthread_join(steps[k], NULL);
    *(long *)arg += mine[0] + mine[3];
    return NULL;
}

static void short_threads(void)
{
    for (long i = 0; i < rounds; i += 8)
        pthread_join(start(begin_steps, (uintptr_t)&table[1]), NULL);
}

/* ---- many ---- */

enum { MANY = 200 };
static sem_t turns[MANY];
static long passed_on;

static void *take_turns(void *arg)
{
    uintptr_t me = (uintptr_t)arg;

    for (long i = 0; i < rounds / MANY + 1; i++) {
        sem_wait(&turns[me]);
        for (int k = 0; k < 8; k++)
            table[(passed_on++ + k) % 512]++;
        sem_post(&turns[(me + 1) % MANY]);
    }
    return NULL;
}

static void many(void)
{
    pthread_t threads[MANY];

    for (unsigned i = 0; i < MANY; i++)
        sem_init(&turns[i], 0, i == 0);
    for (unsigned i = 0; i < MANY; i++)
        threads[i] = start(take_turns, i);
    for (unsigned i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
}

/* ---- processes ---- */

/* One child after the other; a thread of the parent's runs while it forks. */
static void forks(void)
{
    for (long i = 0; i < rounds; i += 2000) {
        pthread_t busy = start(one_more, (uintptr_t)&table[2]);
        pid_t child = fork();

        if (child == 0) {
            rounds = 2000;
            pool();
            _exit(0);
        }
        pthread_join(busy, NULL);
        waitpid(child, NULL, 0);
    }
}

static void processes(void)
{
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            pool();
            _exit(0);
        }
    pool();
    while (wait(NULL) > 0)
        ;
}

static void *racer(void *arg)
{
    raced++; /* race: with itself */
    return arg;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";

    rounds = argc > 2 ? atol(argv[2]) : 1000;
    if (!rounds)
        rounds = INTPTR_MAX;
    if (argc > 3) {
        pthread_t a = start(racer, 0), b = start(racer, 0);

        pthread_join(a, NULL);
        pthread_join(b, NULL);
    }
    if (!strcmp(kind, "idle"))
        idle();
    else if (!strcmp(kind, "pool"))
        pool();
    else if (!strcmp(kind, "blocks"))
        blocks();
    else if (!strcmp(kind, "mixed"))
        mixed();
    else if (!strcmp(kind, "procs"))
        processes();
    else if (!strcmp(kind, "short"))
        short_threads();
    else if (!strcmp(kind, "many"))
        many();
    else if (!strcmp(kind, "forks"))
        forks();
    else
        return 2;
    return 0;
}
