// A loop that runs what other threads post.
#include <pthread.h>

void loop_run(void);
void loop_post(void (*handler)(void *), void *data);
void loop_quit(void);

static struct {
    void (*handler)(void *);
    void *data;
} queue[64];
static int posted, quit;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

void loop_post(void (*handler)(void *), void *data)
{
    pthread_mutex_lock(&lock);
    queue[posted].handler = handler;
    queue[posted++].data = data;
    pthread_cond_signal(&change);
    pthread_mutex_unlock(&lock);
}

void loop_quit(void)
{
    pthread_mutex_lock(&lock);
    quit = 1;
    pthread_cond_signal(&change);
    pthread_mutex_unlock(&lock);
}

void loop_run(void)
{
    for (int next = 0;; next++) {
        pthread_mutex_lock(&lock);
        while (next == posted && !quit)
            pthread_cond_wait(&change, &lock);
        int end = next == posted;
        pthread_mutex_unlock(&lock);
        if (end)
            return;
        queue[next].handler(queue[next].data);
    }
}
