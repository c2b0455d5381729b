// A process with threads forks, and the child starts a thread of its own.
// issue: https://github.com/Tr3kkR/Yuzu/issues/3358
// tool: ThreadSanitizer
// there: crash; 'starting new threads after multi-threaded fork is not supported. Dying'
// verdict: no race; the child waits for its only thread before it reads what that wrote
#include "prog.h"
#include <sys/wait.h>

int stop, answer;

THREAD(waits)
{
    await(&stop);
    return NULL;
}

THREAD(answers)
{
    answer = 42;
    return NULL;
}

int main(void)
{
    int status;
    pthread_t t = start(waits, NULL);
    pid_t child = fork();

    if (child == 0) {
        pthread_join(start(answers, NULL), NULL);
        _exit(answer);
    }
    waitpid(child, &status, 0);
    tell(&stop);
    pthread_join(t, NULL);
    return WEXITSTATUS(status) != 42;
}
