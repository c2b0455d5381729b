// A thread takes two locks and is done with both before the other, told so, takes them in reverse.
// issue: https://github.com/llvm/llvm-project/issues/57955
// tool: ThreadSanitizer
// there: false alarm; lock-order-inversion after the mutex has been unlocked
// verdict: no deadlock; the message orders all of the first thread's locks before the second's
#include "prog.h"
#include <semaphore.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static sem_t unlocked;
int x;

THREAD(first)
{
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&two);
    x++;
    pthread_mutex_unlock(&two);
    pthread_mutex_unlock(&one);
    sem_post(&unlocked);
    return NULL;
}

THREAD(second)
{
    while (sem_wait(&unlocked))
        ;
    pthread_mutex_lock(&two);
    pthread_mutex_lock(&one);
    x++;
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&two);
    return NULL;
}

int main(void)
{
    sem_init(&unlocked, 0, 0);
    run_two(first, second);
    return x - 2;
}
