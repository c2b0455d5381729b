// A recursive lock protects until the outermost unlock.
// gcc: also
#include "prog.h"

pthread_mutex_t lock;
int x;

static void inner(void)
{
    pthread_mutex_lock(&lock);
    x++;
    pthread_mutex_unlock(&lock);
}

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        inner();
        x++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &a);
    run_two(work, work);
    pthread_mutex_destroy(&lock);
    return x - 80;
}
