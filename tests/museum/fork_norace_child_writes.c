// The child of a fork writes a variable that threads of the parent read.
// issue: https://github.com/google/sanitizers/issues/467
// tool: ThreadSanitizer
// there: false alarm; the child's write races with a thread that is not in the child
// verdict: no race; the child's memory is its own, and none of the parent's threads is in it
#include "prog.h"
#include <sys/wait.h>

int thread_count = 2, reading, forked;

THREAD(reader)
{
    USE(thread_count);
    tell(&reading);
    await(&forked);
    return NULL;
}

int main(void)
{
    pthread_t t = start(reader, NULL);

    await(&reading);
    pid_t child = fork();
    if (child == 0) {
        thread_count = 0;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tell(&forked);
    pthread_join(t, NULL);
    return 0;
}
