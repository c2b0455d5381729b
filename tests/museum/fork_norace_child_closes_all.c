// A child closes all descriptors that it knows of before it executes another program.
// issue: https://github.com/google/sanitizers/issues/475
// tool: ThreadSanitizer
// there: hang; close() in the child waits for a lock of the tool
// verdict: no race; descriptors of the child are its own
#include "prog.h"
#include <sys/wait.h>

int stop;

THREAD(uses_pipes)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int ends[2];
        if (!pipe(ends)) {
            close(ends[0]);
            close(ends[1]);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t t = start(uses_pipes, NULL);
    int status, bad = 0;

    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int fd = 3; fd < 64; fd++)
                close(fd);
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
