#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct request {
    int id;
};
static struct request one = { 7 }, *current = &one;

static void *user(void *arg)
{
    (void)arg;
    if (current)
        if (current->id != 7)
            abort();
    return NULL;
}

static void *closer(void *arg)
{
    (void)arg;
    current = NULL;
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, user, NULL);
    pthread_create(&t[1], NULL, closer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
