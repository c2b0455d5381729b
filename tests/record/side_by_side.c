/* side_by_side.c - waits until all of its neighbours run; then races, if it is to */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int racy;

static void *work(void *unused)
{
    if (!racy)
        pthread_mutex_lock(&lock);
    shared++;
    if (!racy)
        pthread_mutex_unlock(&lock);
    return unused;
}

static int is_there(const char *folder, int number)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%d", folder, number);
    return stat(path, &st) == 0;
}

/* FOLDER NUMBER COUNT RACY */
int main(int argc, char **argv)
{
    pthread_t t[2];
    char path[256];

    if (argc < 5)
        return 1;
    racy = atoi(argv[4]);
    snprintf(path, sizeof(path), "%s/%s", argv[1], argv[2]);
    fclose(fopen(path, "w"));
    for (int i = 0; i < atoi(argv[3]);)
        if (is_there(argv[1], i))
            i++;
        else
            usleep(1000);
    if (fork() == 0) /* a process tree each */
        racy = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
