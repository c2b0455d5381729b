// The child of a process with threads allocates memory and ends.
// issue: https://github.com/google/sanitizers/issues/426
// tool: ThreadSanitizer
// there: hang; a helper thread of the tool may hold a lock that the child then waits for
// verdict: no race; the allocator's locks are free in the child (glibc), nothing is shared
#include "prog.h"
#include <sys/wait.h>

int stop;

THREAD(allocates)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int *block = malloc(100);
        block[0] = 1;
        free(block);
    }
    return NULL;
}

int main(void)
{
    pthread_t t = start(allocates, NULL);
    int status, bad = 0;

    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            char *block = malloc(1000);
            memset(block, 1, 1000);
            free(block);
            _exit(0);
        }
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    tell(&stop);
    pthread_join(t, NULL);
    return bad;
}
