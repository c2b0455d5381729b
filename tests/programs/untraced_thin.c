/* A library that only runs a function in a thread, by a name that is known. */
#include <pthread.h>
#include <stdlib.h>

struct thread {
    pthread_t id;
    void *(*f)(void *);
    void *data;
};

static void *proxy(void *arg)
{
    struct thread *t = arg;
    return t->f(t->data);
}

void *g_thread_new(const char *name, void *(*f)(void *), void *data)
{
    struct thread *t = malloc(sizeof *t);
    (void)name;
    *t = (struct thread){ .f = f, .data = data };
    pthread_create(&t->id, NULL, proxy, t);
    return t;
}

void g_thread_join(void *thread)
{
    struct thread *t = thread;
    pthread_join(t->id, NULL);
    free(t);
}
