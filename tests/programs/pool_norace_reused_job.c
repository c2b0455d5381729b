// Jobs of a pool have the addresses of earlier ones that were freed.
// A worker that took the earlier job and one that takes the later one read the same number from the
// queue. Another order in which the later worker gets the earlier job, while the later one is being
// filled in, does not exist: an address is not handed out while it is in use.
// gcc: also
#include <pthread.h>
#include <stdlib.h>

enum { WORKERS = 6, JOBS = 400 };
struct job {
    struct job *next;
    long input, output;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static int queued, over;

static void *serve(void *arg)
{
    long own = (long)arg;

    for (;;) {
        struct job *j;

        pthread_mutex_lock(&lock);
        while (!jobs && !over)
            pthread_cond_wait(&wake, &lock);
        j = jobs;
        if (j) {
            jobs = j->next;
            queued--;
            pthread_cond_signal(&room);
        }
        pthread_mutex_unlock(&lock);
        if (!j)
            return NULL;
        own = own * 31 + j->input;
        j->output = own;
        free(j);
    }
}

int main(void)
{
    pthread_t threads[WORKERS];

    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, serve, (void *)i);
    for (long i = 0; i < JOBS; i++) {
        struct job *j = calloc(1, sizeof(*j));

        j->input = i;
        pthread_mutex_lock(&lock);
        while (queued > 4)
            pthread_cond_wait(&room, &lock);
        j->next = jobs;
        jobs = j;
        queued++;
        pthread_cond_signal(&wake);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
