/* null_pointer - a pointer is cleared between the test and the use
 * harmful: SIGSEGV in first */
#include <pthread.h>
#include <unistd.h>

struct conf {
    int port;
};
static struct conf conf = { 80 }, *volatile current = &conf;
static volatile int port;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg)
{
    if (current) {
        pthread_mutex_lock(&lock);
        port = current->port;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    current = NULL;
    return arg;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
