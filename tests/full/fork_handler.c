/* fork_handler.c - a handler forks, and both go on with what the signal interrupted */
#include "say.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 12 };
volatile unsigned long work[64];
static volatile sig_atomic_t children, in_child;

static void handler(int sig)
{
    (void)sig;
    if (in_child || children == CHILDREN)
        return;
    children++;
    if (fork() == 0)
        in_child = 1;
}

int main(void)
{
    struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
    int status, good = 0;

    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    while (!in_child && children < CHILDREN)
        for (unsigned i = 0; i < 64; i++)
            work[i] = i + work[(i + 1) % 64];
    if (in_child) {
        for (unsigned i = 0; i < 64; i++)
            work[i] = i;
        _exit(0);
    }
    for (int i = 0; i < CHILDREN; i++)
        good += wait(&status) > 0 && status == 0;
    say("good", (unsigned)good);
    return 0;
}
