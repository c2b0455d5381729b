/* double_free - both threads see a pointer that only one may free
 * harmful: SIGABRT */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static void drop(void)
{
    void *b = block;
    if (b) {
        block = NULL;
        free(b);
    }
}

static void *first(void *arg)
{
    drop();
    return arg;
}

static void *second(void *arg)
{
    usleep(100000);
    drop();
    return arg;
}

int main(void)
{
    pthread_t t[2];

    block = malloc(40);
    pthread_create(&t[0], NULL, first, NULL);
    pthread_create(&t[1], NULL, second, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
