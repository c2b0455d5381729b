// The race is in a forked child, which records for itself.
// race: a b
// gcc: also
#include "prog.h"
#include <sys/wait.h>

int x;

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        run_two(first, second);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
