#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
enum { SIZE = 5 };
static int stack[SIZE], top, filled;

static int push(int v)
{
    if (top == SIZE)
        return -1;
    stack[top++] = v;
    return 0;
}

static int pop(int *v)
{
    if (!top)
        return -1;
    *v = stack[--top];
    return 0;
}

static void *pusher(void *arg)
{
    (void)arg;
    for (int i = 0; i < SIZE; i++) {
        pthread_mutex_lock(&m);
        assert(push(i) == 0);
        filled = 1;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *popper(void *arg)
{
    (void)arg;
    for (int i = 0; i < SIZE; i++) {
        pthread_mutex_lock(&m);
        if (filled) {
            int v;
            assert(pop(&v) == 0);
        }
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, pusher, NULL);
    pthread_create(&t[1], NULL, popper, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
