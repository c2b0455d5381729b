/* forks.c - N children, each with two threads that race on `raced` */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int raced;

static void *work(void *arg)
{
    raced += (int)(long)arg; /* race: with itself */
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, i, status, good = 0;

    for (i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            pthread_t a, b;

            pthread_create(&a, NULL, work, (void *)1);
            pthread_create(&b, NULL, work, (void *)2);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            _exit(7);
        }
        if (pid < 0)
            return 2;
    }
    for (i = 0; i < n; i++)
        good += wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7;
    printf("%d\n", good);
    return good == n ? 0 : 1;
}
