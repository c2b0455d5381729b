// A child of a process in a chroot, from where the writer cannot be executed: it is not recorded,
// and loses no time.
// gcc: also
#define _GNU_SOURCE
#include "prog.h"

#include <sys/wait.h>
#include <time.h>

int x;

int main(void)
{
    time_t start = time(NULL);
    int status;

    if (geteuid() && unshare(CLONE_NEWUSER))
        return 0; // may not try
    if (chroot("/proc") || chdir("/"))
        return 0;
    x = 1;
    if (fork() == 0) {
        x = 2;
        _exit(0);
    }
    wait(&status);
    return status || time(NULL) - start > 10;
}
