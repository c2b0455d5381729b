// vfork and exec of an ordinary program; posix_spawn and system do the same inside libc.
// stdout: one
// stdout: two
// stdout: three
// exit: 4
#include "prog.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
int x;

THREAD(work)
{
    x++;
    return NULL;
}

int main(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execlp("echo", "echo", "one", NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    char *args[] = { "echo", "two", NULL };
    posix_spawnp(&child, "echo", NULL, NULL, args, environ);
    waitpid(child, NULL, 0);
    pthread_join(start(work, NULL), NULL);
    x++;
    return WEXITSTATUS(system("echo three; exit 2")) + x;
}
