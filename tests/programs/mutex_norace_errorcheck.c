// An errorcheck mutex refuses the second lock; the refusal changes nothing.
// tsan: false alarm
#include "prog.h"

pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
int x, errors;

THREAD(work)
{
    pthread_mutex_lock(&lock);
    errors += pthread_mutex_lock(&lock) == EDEADLK;
    x++;
    pthread_mutex_unlock(&lock);
    return (void *)(intptr_t)(pthread_mutex_unlock(&lock) == EPERM);
}

int main(void)
{
    run_two(work, work);
    return x + errors - 4;
}
