/* secure.c - what secure.py makes set-uid: threads, a child, and another program with all rights */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void *work(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void run_threads(void)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

/* ./secure [PROGRAM]: started from a child that has become root for good, if it can */
int main(int argc, char **argv)
{
    int status = 0;

    run_threads();
    if (fork() == 0) {
        run_threads();
        if (setresgid(getegid(), getegid(), getegid()) | setresuid(geteuid(), geteuid(), geteuid()))
            _exit(9);
        if (argc > 1)
            execl(argv[1], argv[1], (char *)NULL);
        _exit(0);
    }
    wait(&status);
    printf("%d %d\n", shared, WEXITSTATUS(status));
    return 0;
}
