#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct job {
    int magic, state;
};
static struct job *job;
static int stop;

static void *worker(void *arg)
{
    (void)arg;
    if (!stop) {
        assert(job->magic == 42);
        job->state = 1;
    }
    return NULL;
}

int main(void)
{
    pthread_t t;

    job = malloc(sizeof(*job));
    job->magic = 42;
    pthread_create(&t, NULL, worker, NULL);
    stop = 1;
    job->magic = 0; /* what a debugging allocator does */
    free(job);
    pthread_join(t, NULL);
    return 0;
}
