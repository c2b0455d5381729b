// Pointers that handlers get: with a signal, at exit, of a thread that ends, of a timer.
// pair: signal_w signal_r
// pair: exit_w exit_r
// pair: key_w key_r
// pair: timer_w timer_r
// pair: back_w back_r
// pair: jump_w jump_r
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_key_t key;
static jmp_buf back;
static int jumped, handled, *kept;

static void on_signal(int n, siginfo_t *info, void *context)
{
    (void)n;
    (void)context;
    ++*(int *)info->si_value.sival_ptr; // [signal_r]
    __atomic_store_n(&handled, 1, __ATOMIC_RELAXED);
}

static void at_exit(int status, void *p)
{
    *(int *)p = status; // [exit_r]
}

static void at_end(void *p)
{
    ++*(int *)p; // [key_r]
}

static void on_timer(union sigval v)
{
    ++*(int *)v.sival_ptr; // [timer_r]
}

static int compare(const void *a, const void *b)
{
    return ++*kept + (a < b); // [back_r]
}

static void *run(void *arg)
{
    void *root = NULL;

    pthread_setspecific(key, arg);
    ++jumped; // [jump_r]
    tsearch(arg, &root, compare);
    tsearch(&root, &root, compare);
    while (!__atomic_load_n(&handled, __ATOMIC_RELAXED))
        usleep(1000);
    return NULL;
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    int *s = malloc(4), *e = malloc(4), *k = malloc(4), *m = malloc(4), *c = malloc(4);
    struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer };
    pthread_t t;
    timer_t timer;

    sigaction(SIGUSR1, &action, NULL);
    pthread_key_create(&key, at_end);
    on_exit(at_exit, e);
    kept = c;
    if (setjmp(back) == 0) {
        pthread_create(&t, 0, run, k);
        longjmp(back, 1);
    }
    jumped = 1; // [jump_w]
    pthread_sigqueue(t, SIGUSR1, (union sigval){ .sival_ptr = s });
    event.sigev_value.sival_ptr = m;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    *s = 1; // [signal_w]
    *e = 1; // [exit_w]
    *k = 1; // [key_w]
    *m = 1; // [timer_w]
    *c = 1; // [back_w]
    pthread_join(t, 0);
    return 0;
}
