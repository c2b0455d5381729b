// The lock order that was seen hides the race: one access comes before, one after the sections.
// predicted: a b
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x, y, z;

THREAD(first)
{
    x = 1; // [a]
    pthread_mutex_lock(&lock);
    y++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second)
{
    usleep(50000); /* nearly always behind the other one; the race is there in any order */
    pthread_mutex_lock(&lock);
    z++;
    pthread_mutex_unlock(&lock);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
