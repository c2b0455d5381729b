/* scenes.c - small scenes for chase, litehb and fullhb; the argument names one
 *
 * Sites are marked: a line with "@name" is the site of that name. run.py says which pairs race.
 * Every scene checks itself that the runtime did it no harm: exit code 0, else a message.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int check(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "not fine: %s\n", what);
        exit(1);
    }
    return fine;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void two(void *(*a)(void *), void *(*b)(void *))
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, b, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
}

static void nap(void)
{
    usleep(500);
}

enum { ROUNDS = 400 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- two sites that race ---- */

static int shared;
static _Thread_local volatile int sink;

static void *writer(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        shared = i; /* @write */
        nap();
    }
    return arg;
}

static void *reader(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        sink = shared; /* @read */
        nap();
    }
    return arg;
}

static void race(void)
{
    two(writer, reader);
}

static void *both(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        shared++; /* @self */
        nap();
    }
    return arg;
}

static void self(void)
{
    two(both, both);
}

/* One byte in the middle of a block that the other copies. */
static char block[64];

static void *copies(void *arg)
{
    char to[64];

    for (int i = 0; i < ROUNDS; i++) {
        memcpy(to, block, sizeof(to)); /* @copy */
        sink = to[i % 64];
        nap();
    }
    return arg;
}

static void *pokes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        block[33] = (char)i; /* @poke */
        nap();
    }
    return arg;
}

static void overlap(void)
{
    two(copies, pokes);
}

static atomic_int number;

static void *adds(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add_explicit(&number, 1, memory_order_relaxed); /* @add */
        nap();
    }
    return arg;
}

static void *resets(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        *(int *)&number = 0; /* @reset */
        nap();
    }
    return arg;
}

static void mixed(void)
{
    two(adds, resets);
}

static void atomics(void)
{
    two(adds, adds);
}

/* ---- pairs that never race ---- */

static void *locks(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        shared++; /* @locked */
        pthread_mutex_unlock(&mutex);
        nap();
    }
    return arg;
}

static void locked(void)
{
    two(locks, locks);
}

static void *reads(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        sink = shared; /* @onlyread */
        nap();
    }
    return arg;
}

static void readonly(void)
{
    two(reads, reads);
}

/* Neighbours in one word, but not the same bytes. */
static volatile struct {
    char left, right;
} pair;

static void *goes_left(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pair.left = (char)i; /* @left */
        nap();
    }
    return arg;
}

static void *goes_right(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pair.right = (char)i; /* @right */
        nap();
    }
    return arg;
}

static void neighbours(void)
{
    two(goes_left, goes_right);
}

static int handed;

static void *gets(void *arg)
{
    handed++; /* @child */
    return arg;
}

static void forkjoin(void)
{
    for (int i = 0; i < 40; i++) {
        pthread_t t;

        handed = i; /* @parent */
        pthread_create(&t, NULL, gets, NULL);
        pthread_join(t, NULL);
        handed++; /* @joined */
    }
    check(handed == 41, "handed");
}

static sem_t sem, back;

static void *takes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&sem);
        shared++; /* @taken */
        sem_post(&back);
    }
    return arg;
}

static void *gives(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        shared = i; /* @given */
        sem_post(&sem);
        sem_wait(&back);
    }
    return arg;
}

static void semaphores(void)
{
    sem_init(&sem, 0, 0);
    sem_init(&back, 0, 0);
    two(takes, gives);
}

static atomic_int turn;

static void *pings(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire))
            sched_yield();
        shared = i; /* @ping */
        atomic_store_explicit(&turn, 1, memory_order_release);
    }
    return arg;
}

static void *pongs(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (!atomic_load_explicit(&turn, memory_order_acquire))
            sched_yield();
        check(shared == i, "ping"); /* @pong */
        atomic_store_explicit(&turn, 0, memory_order_release);
    }
    return arg;
}

static void flag(void)
{
    two(pings, pongs);
}

static void *pings_relaxed(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load_explicit(&turn, memory_order_relaxed))
            sched_yield();
        shared = i; /* @weakping */
        atomic_store_explicit(&turn, 1, memory_order_relaxed);
    }
    return arg;
}

static void *pongs_relaxed(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (!atomic_load_explicit(&turn, memory_order_relaxed))
            sched_yield();
        sink = shared; /* @weakpong */
        atomic_store_explicit(&turn, 0, memory_order_relaxed);
    }
    return arg;
}

static void weak(void)
{
    two(pings_relaxed, pongs_relaxed);
}

static pthread_barrier_t barrier;

static void *marches(void *arg)
{
    for (int i = 0; i < 100; i++) {
        if (arg)
            shared = i; /* @step */
        pthread_barrier_wait(&barrier);
        if (!arg)
            check(shared == i, "step"); /* @seen */
        pthread_barrier_wait(&barrier);
    }
    return arg;
}

static void barriers(void)
{
    pthread_t t;

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&t, NULL, marches, &t);
    marches(NULL);
    pthread_join(t, NULL);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *rw(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (arg) {
            pthread_rwlock_wrlock(&rwlock);
            shared++; /* @wrlock */
        } else {
            pthread_rwlock_rdlock(&rwlock);
            sink = shared; /* @rdlock */
        }
        pthread_rwlock_unlock(&rwlock);
        nap();
    }
    return arg;
}

static void rwlocks(void)
{
    pthread_t t[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, rw, i ? NULL : &t);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *arg)
{
    for (int i = 1; i <= ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        while (ready < i)
            pthread_cond_wait(&cond, &mutex);
        pthread_mutex_unlock(&mutex);
        sink = shared; /* @waited */
        pthread_mutex_lock(&mutex);
        ready = -i;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void *signals_it(void *arg)
{
    for (int i = 1; i <= ROUNDS; i++) {
        shared = i; /* @signalled */
        pthread_mutex_lock(&mutex);
        ready = i;
        pthread_cond_broadcast(&cond);
        while (ready != -i)
            pthread_cond_wait(&cond, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void conditions(void)
{
    two(waits, signals_it);
}

/* Blocks go from hand to hand through malloc alone. */
static void *mallocs(void *arg)
{
    for (int i = 0; i < 4 * ROUNDS; i++) {
        volatile int *p = malloc(48);

        *p = i; /* @heap */
        free((void *)p);
        if (i % 16 == 0)
            nap();
    }
    return arg;
}

static void heap(void)
{
    two(mallocs, mallocs);
}

/* ---- no harm ---- */

static void *with_errno(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        errno = 77;
        shared++; /* @errno */
        check(errno == 77, "errno");
        nap();
    }
    return arg;
}

static void keeps_errno(void)
{
    two(with_errno, with_errno);
}

static atomic_int handled;
static _Thread_local sigjmp_buf out;
static _Thread_local volatile sig_atomic_t may_jump;

static void on_usr1(int sig)
{
    (void)sig;
    atomic_fetch_add(&handled, 1);
    errno = 5;
    if (may_jump)
        siglongjmp(out, 1);
}

static atomic_int stop;

static void *under_fire(void *arg)
{
    while (!atomic_load(&stop)) {
        may_jump = 0;
        if (sigsetjmp(out, 1) == 0) {
            may_jump = arg != NULL;
            shared++; /* @fired */
            may_jump = 0;
        }
        shared++; /* @firedagain */
        usleep(100);
    }
    return arg;
}

/* Signals are sent one at a time, and each must come. */
static void fire(void)
{
    struct sigaction a = { .sa_handler = on_usr1 };
    pthread_t t[2];
    int sent = 0;

    sigaction(SIGUSR1, &a, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, under_fire, i ? &t : NULL);
    for (double end = now() + 0.3; now() < end;) {
        pthread_kill(t[sent % 2], SIGUSR1);
        sent++;
        for (double late = now() + 5; atomic_load(&handled) < sent; usleep(20))
            check(now() < late, "signal");
    }
    atomic_store(&stop, 1);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    check(atomic_load(&handled) == sent, "signals");
}

static volatile int spun;

static void *to_cancel(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        spun++; /* @cancelled */
    return arg;
}

/* A thread that is cancelled while it waits leaves no lock and no place behind. */
static void cancel(void)
{
    for (int i = 0; i < 60; i++) {
        pthread_t t[2];
        void *result;

        for (int k = 0; k < 2; k++)
            pthread_create(&t[k], NULL, to_cancel, NULL);
        usleep((unsigned)(i % 7) * 300);
        for (int k = 0; k < 2; k++) {
            pthread_cancel(t[k]);
            pthread_join(t[k], &result);
            check(result == PTHREAD_CANCELED, "cancelled");
        }
    }
}

/* Children of a process whose threads wait: they race by themselves. */
static void forks(void)
{
    pthread_t t;
    int status;

    pthread_create(&t, NULL, both, NULL);
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            two(both, both);
            _exit(40 + i);
        }
        check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 40 + i,
              "child");
    }
    pthread_join(t, NULL);
}

static const char *own_path;

static void execs(void)
{
    if (getenv("SCENES_AGAIN")) {
        self();
        return;
    }
    setenv("SCENES_AGAIN", "1", 1);
    pthread_t t;
    pthread_create(&t, NULL, both, NULL);
    usleep(2000);
    execl(own_path, own_path, "execs", (char *)NULL);
    check(0, "exec");
}

static void *waits_long(void *arg)
{
    shared++; /* @long */
    return arg;
}

static void exits(void)
{
    pthread_t t;

    pthread_create(&t, NULL, waits_long, NULL);
    usleep(20000);
    exit(0);
}

static void *once(void *arg)
{
    shared++; /* @once */
    return arg;
}

static void many(void)
{
    for (int i = 0; i < 40; i++) {
        pthread_t t[8];

        for (int k = 0; k < 8; k++)
            pthread_create(&t[k], NULL, once, NULL);
        for (int k = 0; k < 8; k++)
            pthread_join(t[k], NULL);
    }
}

/* ---- many threads ---- */

static pthread_barrier_t crowd_gate;
static atomic_int crowd_sum;

/* All of them are alive when the first accesses, and all access. */
static void *in_crowd(void *arg)
{
    pthread_barrier_wait(&crowd_gate);
    for (int i = 0; i < 4; i++) {
        shared++; /* @crowd */
        pthread_mutex_lock(&mutex);
        handed++; /* @queue */
        pthread_mutex_unlock(&mutex);
        sched_yield();
    }
    atomic_fetch_add(&crowd_sum, 1);
    return arg;
}

static void crowd(int n)
{
    pthread_t *t = calloc((size_t)n, sizeof(*t));
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 << 10);
    pthread_barrier_init(&crowd_gate, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        check(pthread_create(&t[i], &attr, in_crowd, NULL) == 0, "create");
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    check(atomic_load(&crowd_sum) == n && handed == 4 * n, "crowd");
    free(t);
}

static void crowd64(void)
{
    crowd(64);
}

static void crowd1000(void)
{
    crowd(1000);
}

/* Everything at once: threads that are cancelled at any instruction, signals, forks, and children
 * that end in the middle of it. */
static void *stirs(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        shared++; /* @stirred */
        spun++;
    }
    return arg;
}

static void on_usr2(int sig)
{
    (void)sig;
    shared++; /* @handler */
}

static void fork_once(int i)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        two(both, both);
        _exit(i);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == i, "fork");
}

static void stir(void)
{
    struct sigaction a = { .sa_handler = on_usr2, .sa_flags = SA_RESTART };
    void *result;

    sigaction(SIGUSR2, &a, NULL);
    for (int i = 0; i < 12; i++) {
        pthread_t t[4];

        for (int k = 0; k < 4; k++)
            pthread_create(&t[k], NULL, stirs, NULL);
        for (int k = 0; k < 40; k++) {
            pthread_kill(t[k % 4], SIGUSR2);
            usleep(100);
        }
        if (i % 6 == 0)
            fork_once(i);
        for (int k = 0; k < 4; k++) {
            pthread_cancel(t[k]);
            pthread_join(t[k], &result);
            check(result == PTHREAD_CANCELED, "stirred");
        }
    }
}

static volatile int heat;

static void *hot_loop(void *arg)
{
    for (double end = now() + 0.5; now() < end;)
        for (int i = 0; i < 10000; i++)
            heat++; /* @hot */
    return arg;
}

static void hot(void)
{
    two(hot_loop, hot_loop);
}

/* Until somebody removes the file that the environment names. */
static void *runs(void *arg)
{
    const char *file = getenv("SCENES_FILE");

    for (double end = now() + 60; now() < end && access(file, F_OK) == 0; nap())
        shared++; /* @run */
    return arg;
}

static void long_run(void)
{
    two(runs, runs);
}

static void killed(void)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, both, NULL);
    usleep(150000);
    kill(getpid(), SIGKILL);
}

static const struct {
    const char *name;
    void (*play)(void);
} scenes[] = {
    { "race", race },
    { "self", self },
    { "overlap", overlap },
    { "mixed", mixed },
    { "atomics", atomics },
    { "locked", locked },
    { "readonly", readonly },
    { "neighbours", neighbours },
    { "forkjoin", forkjoin },
    { "semaphores", semaphores },
    { "flag", flag },
    { "weak", weak },
    { "barriers", barriers },
    { "rwlocks", rwlocks },
    { "conditions", conditions },
    { "heap", heap },
    { "errno", keeps_errno },
    { "fire", fire },
    { "cancel", cancel },
    { "forks", forks },
    { "execs", execs },
    { "exits", exits },
    { "many", many },
    { "crowd64", crowd64 },
    { "crowd1000", crowd1000 },
    { "stir", stir },
    { "hot", hot },
    { "long", long_run },
    { "killed", killed },
};

int main(int argc, char **argv)
{
    own_path = argv[0];
    for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(*scenes); i++)
        if (strcmp(scenes[i].name, argv[1]) == 0) {
            scenes[i].play();
            printf("played %s\n", argv[1]);
            return 0;
        }
    return 99;
}
