/* exit.c - a program that races or not, and ends as it is told: "race 3", "clean s15" (a signal);
 * "late 0": it leaves a process behind that has recorded nothing yet */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int racy, guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *race(void *arg)
{
    racy++;
    return arg;
}

static void *clean(void *arg)
{
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv)
{
    void *(*run)(void *) = argc > 1 && strcmp(argv[1], "race") == 0 ? race : clean;
    const char *end = argc > 2 ? argv[2] : "0";
    pthread_t first, second;

    if (argc > 1 && strcmp(argv[1], "late") == 0 && fork() == 0) {
        sleep(1);
        _exit(0);
    }
    pthread_create(&first, NULL, run, NULL);
    pthread_create(&second, NULL, run, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    if (end[0] == 's')
        raise(atoi(end + 1));
    return atoi(end);
}
