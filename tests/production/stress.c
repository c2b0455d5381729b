/* stress.c - runs over many sites while they are patched and unpatched, until SIGUSR1
 *
 * Threads compute what they know the result of; one opens and closes a library with sites of its
 * own, one forks children that do the same work, a timer interrupts them all with a handler that
 * has sites, and one thread has all signals blocked. Exit code 1: a result was wrong. Usage: stress
 * LIBRARY (or - for none) [LIMIT_SECONDS]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64, THREADS = 3 };

static volatile sig_atomic_t stop, ticks;
static int wrong, rounds[THREADS + 3];
static long interrupted[N];

struct node {
    struct node *next;
    unsigned value;
    double weight;
};

/* Many small functions, each with sites: no-ops at all kinds of places. */
#define SITES(k)                                                                                   \
    static __attribute__((noinline)) unsigned work##k(unsigned *a, struct node *list, double *d)   \
    {                                                                                              \
        unsigned sum = k;                                                                          \
        for (int i = 0; i < N; i++) {                                                              \
            a[i] = a[i] * 3 + k;                                                                   \
            sum += a[i] ^ (unsigned)i;                                                             \
            d[i] = d[i] * 0.5 + k;                                                                 \
        }                                                                                          \
        for (struct node *n = list; n; n = n->next) {                                              \
            n->value += sum;                                                                       \
            n->weight += d[n->value % N];                                                          \
            sum ^= n->value;                                                                       \
        }                                                                                          \
        return sum;                                                                                \
    }
#define TEN(f, k) f(k##0) f(k##1) f(k##2) f(k##3) f(k##4) f(k##5) f(k##6) f(k##7) f(k##8) f(k##9)
TEN(SITES, 1)
TEN(SITES, 2)
TEN(SITES, 3)
TEN(SITES, 4)

typedef unsigned (*work_fn)(unsigned *, struct node *, double *);
#define NAME(k) work##k,
static const work_fn all[] = { TEN(NAME, 1) TEN(NAME, 2) TEN(NAME, 3) TEN(NAME, 4) };

static unsigned once(void)
{
    unsigned *a = calloc(N, sizeof(*a)), sum = 0;
    double *d = calloc(N, sizeof(*d)), weight = 0;
    struct node *list = NULL;

    for (unsigned i = 0; i < 8; i++) {
        struct node *n = malloc(sizeof(*n));

        *n = (struct node){ list, i, 0 };
        list = n;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        sum = sum * 31 + all[i](a, list, d);
    while (list) {
        struct node *n = list;

        weight += n->weight;
        list = n->next;
        free(n);
    }
    free(a);
    free(d);
    return sum ^ (unsigned)weight;
}

static unsigned expected;

static void check(int thread)
{
    if (once() != expected)
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
    rounds[thread]++;
}

static void *spin(void *number)
{
    sigset_t all_signals;

    sigfillset(&all_signals);
    if ((long)number == 0)
        pthread_sigmask(SIG_SETMASK, &all_signals, NULL);
    while (!stop)
        check((int)(long)number);
    return NULL;
}

static void *load(void *path)
{
    while (!stop) {
        void *library = dlopen(path, RTLD_NOW);
        unsigned (*f)(unsigned) = NULL;

        if (library)
            *(void **)&f = dlsym(library, "library_work");
        if (!f || f(5) != 5 * 4 / 2)
            __atomic_store_n(&wrong, 2, __ATOMIC_RELAXED);
        if (library)
            dlclose(library);
        rounds[THREADS]++;
    }
    return NULL;
}

static void *fork_children(void *unused)
{
    while (!stop) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            _exit(once() != expected);
        if (child < 0 || waitpid(child, &status, 0) < 0 || status)
            __atomic_store_n(&wrong, 3, __ATOMIC_RELAXED);
        rounds[THREADS + 1]++;
        usleep(2000);
    }
    return unused;
}

static void on_alarm(int sig)
{
    for (int i = 0; i < N; i++)
        interrupted[i] += sig;
    ticks++;
}

static void on_stop(int sig)
{
    (void)sig;
    stop = 1;
}

int main(int argc, char **argv)
{
    struct itimerval often = { { 0, 5000 }, { 0, 5000 } };
    pthread_t t[THREADS + 2];
    int n = 0, limit = argc > 2 ? atoi(argv[2]) : 60;

    expected = once();
    signal(SIGUSR1, on_stop);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[n++], NULL, spin, (void *)i);
    if (argc > 1 && strcmp(argv[1], "-"))
        pthread_create(&t[n++], NULL, load, argv[1]);
    pthread_create(&t[n++], NULL, fork_children, NULL);
    for (int i = 0; !stop && i < limit * 100; i++)
        usleep(10000);
    stop = 1;
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    fprintf(stderr, "rounds %d %d %d, libraries %d, forks %d, wrong %d\n", rounds[0], rounds[1],
            rounds[2], rounds[THREADS], rounds[THREADS + 1], wrong);
    return wrong;
}
