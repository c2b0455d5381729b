/* files.c - how many files can the program open, and what becomes of them? */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { FILES_MAX = 100 };

int raced;

static void *work(void *arg)
{
    raced = (int)(long)arg; /* race: with itself */
    return NULL;
}

static void run_threads(void)
{
    pthread_t t[2];

    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

/* All that are free, twice; then the threads once more without any. */
int main(void)
{
    int last = -1, first = -1, fd, n = 0;

    run_threads();
    for (; n < FILES_MAX && (fd = open("/dev/null", O_RDONLY)) >= 0; n++) {
        first = first < 0 ? fd : first;
        last = fd;
    }
    run_threads();
    for (fd = 3; fd <= last; fd++)
        close(fd);
    run_threads();
    printf("%d files, from %d to %d, then %d\n", n, first, last, open("/dev/null", O_RDONLY));
    return 7;
}
