// A statically linked program.
// race: a b
// flags: -static
// gcc: also
// tsan: cannot link
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x, y;

THREAD(first)
{
    pthread_mutex_lock(&lock);
    y++;
    pthread_mutex_unlock(&lock);
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    pthread_mutex_lock(&lock);
    y++;
    pthread_mutex_unlock(&lock);
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return y - 2;
}
