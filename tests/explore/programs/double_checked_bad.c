#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
struct object {
    int a, b;
};
static struct object *instance;

static struct object *get(void)
{
    if (!instance) {
        pthread_mutex_lock(&m);
        if (!instance) {
            instance = calloc(1, sizeof(*instance));
            instance->a = 1;
            instance->b = 2;
        }
        pthread_mutex_unlock(&m);
    }
    return instance;
}

static void *use(void *arg)
{
    (void)arg;
    struct object *o = get();
    assert(o->a == 1 && o->b == 2);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, use, NULL);
    pthread_create(&t[1], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
