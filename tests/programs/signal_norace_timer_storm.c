// A timer of 200 us interrupts everything; output and results stay what they are.
// stdout: 20000
// gcc: also
#include "prog.h"
#include <signal.h>
#include <sys/time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;
volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}

THREAD(work)
{
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
        free(malloc(100));
    }
    return NULL;
}

int main(void)
{
    struct sigaction a = { .sa_handler = tick, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    run_two(work, work);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", x);
    return 0;
}
