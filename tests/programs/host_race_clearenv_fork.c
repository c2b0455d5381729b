// The child records for itself, although nothing is left of the environment.
// race: a b
// tsan: loses the report
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
    int status;
    if (chdir("/") || clearenv())
        return 1;
    if (fork() == 0) {
        run_two(first, second);
        _exit(0);
    }
    wait(&status);
    return 0;
}
