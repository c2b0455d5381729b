// main returns while threads that do nothing wrong still run; the exit code is main's.
// exit: 7
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(child)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
        pause_ms(1);
    }
    return NULL;
}

int main(void)
{
    start(child, NULL);
    start(child, NULL);
    pause_ms(10);
    return 7;
}
