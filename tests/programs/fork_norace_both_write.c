// After a fork parent and child write the same addresses, which are different memory.
// stdout: child
// stdout: parent
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
    x = 1;
    pthread_join(start(work, NULL), NULL);
    pid_t child = fork();
    pthread_join(start(work, NULL), NULL);
    if (child == 0) {
        puts("child");
        exit(x - 3);
    }
    int status;
    waitpid(child, &status, 0);
    puts("parent");
    return WEXITSTATUS(status) + x - 3;
}
