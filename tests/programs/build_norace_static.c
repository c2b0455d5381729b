// A statically linked program: locks, heap and string functions still count.
// flags: -static
// flags: -static-pie
// gcc: also
// tsan: cannot link
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
char *message;

THREAD(sender)
{
    pthread_mutex_lock(&lock);
    message = strdup("hello");
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(receiver)
{
    pthread_mutex_lock(&lock);
    while (!message)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    free(message);
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return 0;
}
