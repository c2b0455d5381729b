// Threads of a loop run beside each other; a thread's thread runs beside its grandparent.
// pair: body body
// pair: child grand
// pair: main grand
// never: start body
#include <pthread.h>

static int shared, deep;

static void *grand(void *arg)
{
    deep++; // [grand]
    return arg;
}

static void *child(void *arg)
{
    pthread_t t;

    pthread_create(&t, NULL, grand, NULL);
    deep++; // [child]
    pthread_detach(t);
    return arg;
}

static void *body(void *arg)
{
    shared++; // [body]
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[64], c;

    (void)argv;
    shared = argc; // [start]
    for (int i = 0; i < argc; i++)
        pthread_create(&t[i], NULL, body, NULL);
    pthread_create(&c, NULL, child, NULL);
    pthread_join(c, NULL);
    deep = 2; // [main]
    for (int i = 0; i < argc; i++)
        pthread_join(t[i], NULL);
    return 0;
}
