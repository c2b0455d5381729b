/* live.c - a program that goes on until it is told to end, for tests/record/live
 *
 *     live FOLDER racy|clean|untraced|mixed
 *
 * Two threads count, without a lock (racy), with one, or (untraced) in order, in a way that a
 * library arranges which was not traced; until FOLDER/end is there. Mixed: two more threads count
 * something else without a lock, and call the library, too, each for itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void turn_take(void *place, int who);
void turn_pass(void *place, int who);
void note_down(void *place);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
static char end[4096];
static int counter, in_turn, place[16];

static void count(void)
{
    counter++;
}

static void count_in_turn(void)
{
    in_turn++;
}

static void *worker(void *arg)
{
    int who = *(int *)arg;

    while (access(end, F_OK) != 0) {
        if (strcmp(how, "clean") == 0)
            pthread_mutex_lock(&lock);
        if (strcmp(how, "mixed") == 0 || strcmp(how, "untraced") == 0)
            turn_take(place, who);
        if (strcmp(how, "mixed") == 0 || strcmp(how, "untraced") == 0)
            count_in_turn();
        else
            count();
        if (strcmp(how, "mixed") == 0 || strcmp(how, "untraced") == 0)
            turn_pass(place, who);
        if (strcmp(how, "clean") == 0)
            pthread_mutex_unlock(&lock);
        usleep(20000);
    }
    return NULL;
}

static void *loner(void *arg)
{
    int own[16] = { 0 };

    (void)arg;
    while (access(end, F_OK) != 0) {
        note_down(own);
        count();
        usleep(20000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int numbers[2] = { 0, 1 }, n = 2;
    pthread_t threads[4];

    if (argc != 3)
        return 2;
    how = argv[2];
    snprintf(end, sizeof(end), "%s/end", argv[1]);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, &numbers[i]);
    for (; n < 4 && strcmp(how, "mixed") == 0; n++)
        pthread_create(&threads[n], NULL, loner, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
