/* part of library_norace_plugin_constructors.c */
#include <pthread.h>
#include <stddef.h>

int from_constructor;
static pthread_t thread;

static void *child(void *arg)
{
    from_constructor++;
    return arg;
}

__attribute__((constructor)) static void begin(void)
{
    from_constructor = 1;
    pthread_create(&thread, NULL, child, NULL);
}

void library_join(void)
{
    pthread_join(thread, NULL);
}
