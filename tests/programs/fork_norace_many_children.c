// Twenty children, each with a thread and an exit code of its own.
// gcc: also
#include "prog.h"
#include <sys/wait.h>

int x;

THREAD(work)
{
    x++;
    return NULL;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 20; i++)
        if (fork() == 0) {
            pthread_join(start(work, NULL), NULL);
            _exit(x + i);
        }
    for (int i = 0, status; i < 20; i++) {
        wait(&status);
        sum += WEXITSTATUS(status);
    }
    return sum != 210;
}
