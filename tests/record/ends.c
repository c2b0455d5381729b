/* ends.c - threads that still run when the program ends */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *late(void *unused)
{
    usleep(100000);
    shared = 1; /* races with main()'s */
    return unused;
}

static void *for_ever(void *unused)
{
    for (;;)
        usleep(1000);
    return unused;
}

static void *asleep(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&cond, &lock);
    return unused;
}

static void at_exit(void)
{
    puts("at exit");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t t;
    void *(*f)(void *) = strcmp(how, "for-ever") == 0 ? for_ever
                         : strcmp(how, "asleep") == 0 ? asleep
                                                      : late;

    atexit(at_exit);
    puts("main");
    if (*how)
        pthread_create(&t, NULL, f, NULL);
    if (strcmp(how, "joined") == 0)
        pthread_join(t, NULL);
    shared = 2;
    fflush(stdout);
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    return 4;
}
