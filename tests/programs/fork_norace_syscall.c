// Forks by system call, past libc and its handlers. What the children write is memory of their own.
// stdout: 4
// tsan: false alarm
#include "prog.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int x, stop;

THREAD(writes)
{
    x = 1;
    await(&stop);
    return NULL;
}

static long make_child(int way)
{
    if (way & 1)
        return syscall(SYS_fork);
    return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

int main(void)
{
    pthread_t t = start(writes, NULL);
    int done = 0, status;

    for (int i = 0; i < 4; i++) {
        long pid = make_child(i);
        if (pid == 0) {
            x = 2;
            _exit(0);
        }
        done += pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && status == 0;
    }
    tell(&stop);
    pthread_join(t, NULL);
    printf("%d\n", done);
    return 0;
}
