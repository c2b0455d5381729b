#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int fd[2];

static void *writer(void *arg)
{
    (void)arg;
    char x = 7;
    if (write(fd[1], &x, 1) != 1)
        abort();
    return NULL;
}

static void *reader(void *arg)
{
    (void)arg;
    char x = 0;
    if (read(fd[0], &x, 1) != 1)
        abort();
    assert(x == 7);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    if (pipe(fd))
        return 1;
    pthread_create(&t[0], NULL, reader, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
