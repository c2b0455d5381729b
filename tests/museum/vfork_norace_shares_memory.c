// A vfork child reports through its parent's memory why it could not execute a program.
// issue: https://github.com/google/sanitizers/issues/925
// tool: ThreadSanitizer
// there: unusable report; vfork was to be replaced by fork, which loses what the child writes
// verdict: no race; the parent waits until the child has gone
// stdout: No such file or directory
#include "prog.h"
#include <sys/wait.h>

static volatile int child_error;

THREAD(spawns)
{
    int status;
    pid_t child = vfork();

    if (child == 0) {
        execl("/proc/nonexistent/x", "x", (char *)NULL);
        child_error = errno;
        _exit(1);
    }
    waitpid(child, &status, 0);
    puts(strerror(child_error));
    return NULL;
}

int main(void)
{
    pthread_join(start(spawns, NULL), NULL);
    return child_error == 0;
}
