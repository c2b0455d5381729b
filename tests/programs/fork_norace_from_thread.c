// A thread forks while another holds a lock and writes; pthread_atfork handlers run.
#include "prog.h"
#include <sys/wait.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void give(void)
{
    pthread_mutex_unlock(&lock);
}

THREAD(writer)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

THREAD(forker)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&lock);
        _exit(x >= 0 ? 5 : 6);
    }
    int status;
    waitpid(child, &status, 0);
    return (void *)(intptr_t)WEXITSTATUS(status);
}

int main(void)
{
    pthread_atfork(take, give, give);
    pthread_t a = start(writer, NULL), b = start(forker, NULL);
    void *status;
    pthread_join(a, NULL);
    pthread_join(b, &status);
    return (intptr_t)status != 5;
}
