// A process forks while its other threads access memory all the time; the child does so, too.
// issue: https://github.com/google/sanitizers/issues/453
// tool: ThreadSanitizer
// there: hang; the child can wait for a lock of the tool that a thread held at the fork
// verdict: no race; each thread has its own memory, and the child is alone
// stdout: 6
#include "prog.h"
#include <sys/wait.h>

int stop, numbers[2][64];

static void *busy(void *arg)
{
    int *mine = arg;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 64; i++)
            mine[i]++;
    return NULL;
}

int main(void)
{
    pthread_t a = start(busy, numbers[0]), b = start(busy, numbers[1]);
    int sum = 0;

    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        int status;
        if (child == 0) {
            int own[4] = { 0 };
            for (int k = 0; k < 4; k++)
                own[k] = k;
            _exit(own[2]);
        }
        waitpid(child, &status, 0);
        sum += WEXITSTATUS(status);
    }
    tell(&stop);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", sum);
    return 0;
}
