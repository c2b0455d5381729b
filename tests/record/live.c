/* live.c - a program that goes on until it is told to end, for tests/record/live
 *
 *     live FOLDER racy|clean|untraced
 *
 * Two threads count, without a lock (racy), with one, or (untraced) in order, in a way that a
 * library arranges which was not traced; until FOLDER/end is there.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void turn_take(void *place, int who);
void turn_pass(void *place, int who);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
static char end[4096];
static int counter, place[16];

static void count(void)
{
    counter++;
}

static void *worker(void *arg)
{
    int who = *(int *)arg;

    while (access(end, F_OK) != 0) {
        if (strcmp(how, "clean") == 0)
            pthread_mutex_lock(&lock);
        if (strcmp(how, "untraced") == 0)
            turn_take(place, who);
        count();
        if (strcmp(how, "untraced") == 0)
            turn_pass(place, who);
        if (strcmp(how, "clean") == 0)
            pthread_mutex_unlock(&lock);
        usleep(20000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int numbers[2] = { 0, 1 };
    pthread_t threads[2];

    if (argc != 3)
        return 2;
    how = argv[2];
    snprintf(end, sizeof(end), "%s/end", argv[1]);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
