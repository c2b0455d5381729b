/* signals.c - a storm of signals: handlers write while the program writes; some leave by longjmp
 *
 *     signals MILLISECONDS
 *
 * Says how many writes were made by the program and by handlers, and how often it was jumped.
 */
#include "say.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

volatile unsigned long work[64], handled[2], handler_runs, jumps, rounds;
static sigjmp_buf start;
static volatile sig_atomic_t may_jump;

static __attribute__((noinline)) void deep(unsigned long n)
{
    handled[1] = n;
}

static void handler(int sig)
{
    (void)sig;
    handler_runs++;
    handled[0] = handler_runs;
    deep(handler_runs);
    if (may_jump && handler_runs % 16 == 0) {
        may_jump = 0;
        siglongjmp(start, 1);
    }
}

static __attribute__((noinline)) void round_of_work(unsigned long n)
{
    for (unsigned i = 0; i < 64; i++)
        work[i] = n + work[(i + 1) % 64];
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    long end = now_ms() + (argc > 1 ? atol(argv[1]) : 300);
    struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };

    signal(SIGALRM, handler);
    if (sigsetjmp(start, 1))
        jumps++;
    setitimer(ITIMER_REAL, &often, NULL);
    while (now_ms() < end) {
        may_jump = 1;
        round_of_work(rounds);
        may_jump = 0;
        rounds++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    say("handled0", (unsigned long long)&handled[0]);
    say("handled1", (unsigned long long)&handled[1]);
    say("runs", (unsigned long long)&handler_runs);
    say("handler_runs", handler_runs);
    say("jumps", jumps);
    say("rounds", rounds);
    return 0;
}
