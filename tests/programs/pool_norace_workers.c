// A small thread pool: jobs and results under one lock, the work itself outside.
// gcc: also
#include "prog.h"

enum { JOBS = 40 };
struct job {
    int input, output;
} jobs[JOBS];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t more = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
int available, next, done;

THREAD(worker)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (next == available && next < JOBS)
            pthread_cond_wait(&more, &lock);
        if (next == JOBS)
            break;
        struct job *job = &jobs[next++];
        pthread_mutex_unlock(&lock);
        job->output = job->input * 2;
        pthread_mutex_lock(&lock);
        if (++done == JOBS)
            pthread_cond_signal(&finished);
        if (next == JOBS)
            pthread_cond_broadcast(&more);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        t[i] = start(worker, NULL);
    for (int i = 0; i < JOBS; i++) {
        jobs[i].input = i;
        pthread_mutex_lock(&lock);
        available++;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    while (done < JOBS)
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
    int sum = jobs[1].output + jobs[JOBS - 1].output;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return sum - 2 * JOBS;
}
