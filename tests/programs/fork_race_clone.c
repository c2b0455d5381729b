// clone() without shared memory makes a child as fork() does, but calls no handlers; another thread
// may be in the middle of recording something. The child has a recording of its own.
// race: a b
// stdout: 5
// gcc: also
#include "prog.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static long spins;
static int stop;
int x;

THREAD(spin)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 500; i++)
            __atomic_fetch_add(&spins, 1, __ATOMIC_SEQ_CST);
        usleep(100);
    }
    return NULL;
}

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

static int child(void *arg)
{
    (void)arg;
    for (int i = 0; i < 500; i++)
        __atomic_fetch_add(&spins, 1, __ATOMIC_SEQ_CST);
    run_two(first, second);
    exit(0);
}

int main(void)
{
    enum { STACK = 256 << 10 };
    char *stack = malloc(STACK);
    pthread_t t;
    int done = 0, status;

    pthread_create(&t, NULL, spin, NULL);
    for (int i = 0; i < 5; i++) {
        pid_t pid = clone(child, stack + STACK, SIGCHLD, NULL);
        done += pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(t, NULL);
    free(stack);
    printf("%d\n", done);
    return 0;
}
