/* part of library_norace_untraced.c */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void with_lock(void (*f)(void))
{
    pthread_mutex_lock(&lock);
    f();
    pthread_mutex_unlock(&lock);
}
