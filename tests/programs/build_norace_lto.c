// Link-time optimisation keeps locks and accesses in order.
// flags: -O2 -flto
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(work)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 200;
}
