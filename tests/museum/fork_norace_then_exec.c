// Threads allocate while the process forks and executes another program, several times.
// issue: https://github.com/google/sanitizers/issues/1400
// tool: ThreadSanitizer
// there: hang; the child hangs in the tool's allocator between fork and exec
// verdict: no race; between fork and exec the child only calls async-signal-safe functions
#include "prog.h"
#include <sys/wait.h>

int stop;

THREAD(allocates)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        free(malloc(64));
    return NULL;
}

int main(void)
{
    pthread_t t = start(allocates, NULL);
    int status, bad = 0;

    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    tell(&stop);
    pthread_join(t, NULL);
    return bad;
}
