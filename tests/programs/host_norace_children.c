// A program that waits for any child, or handles SIGCHLD, meets only its own.
// gcc: also
#include "prog.h"
#include <signal.h>
#include <sys/wait.h>

volatile sig_atomic_t signals;
int x;

static void handler(int number)
{
    (void)number;
    signals++;
}

THREAD(work)
{
    x++;
    return NULL;
}

int main(void)
{
    signal(SIGCHLD, handler);
    pthread_join(start(work, NULL), NULL);
    if (wait(NULL) != -1 || errno != ECHILD || signals)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        pthread_join(start(work, NULL), NULL);
        _exit(wait(NULL) != -1);
    }
    int status;
    if (waitpid(-1, &status, 0) != child || status)
        return 2;
    return wait(NULL) != -1 || signals != 1;
}
