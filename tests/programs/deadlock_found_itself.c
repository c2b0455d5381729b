// A thread takes a mutex that is not recursive a second time, and waits for itself for ever.
// deadlock: again
// exit: 143
// gcc: also
// tsan: hangs
#include "prog.h"
#include "stuck.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

static void add(void)
{
    pthread_mutex_lock(&lock); // [again]
    x++;
    pthread_mutex_unlock(&lock);
}

THREAD(watch)
{
    await_waiters(&lock);
    kill(getpid(), SIGTERM);
    return NULL;
}

int main(void)
{
    add();
    start(watch, NULL);
    pthread_mutex_lock(&lock);
    add();
}
