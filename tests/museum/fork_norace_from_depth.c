// Processes are started from deep inside of nested calls.
// issue: https://github.com/google/sanitizers/issues/945
// tool: ThreadSanitizer
// there: hang; two in ten thousand forked children hang when their trace of calls is full
// verdict: no race; one thread, and children with memory of their own
#include "prog.h"
#include <sys/wait.h>

int calls;

__attribute__((noinline)) static int nested(int depth)
{
    int status = 0;

    calls++;
    if (depth)
        return nested(depth - 1) + (calls < 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++)
            calls += i;
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

THREAD(idle)
{
    USE(calls);
    return NULL;
}

int main(void)
{
    int bad = 0;

    pthread_join(start(idle, NULL), NULL);
    for (int i = 0; i < 8; i++)
        bad |= nested(60);
    return bad;
}
