// Both orders, but nobody waits while holding: the second lock is tried for, and on failure the
// first one is given back.
// gcc: also
#include "prog.h"

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int x;

static void both(pthread_mutex_t *one, pthread_mutex_t *other)
{
    for (;;) {
        pthread_mutex_lock(one);
        if (pthread_mutex_trylock(other) == 0)
            return;
        pthread_mutex_unlock(one);
        pause_ms(1);
    }
}

THREAD(first)
{
    for (int i = 0; i < 10; i++) {
        both(&a, &b);
        x++;
        pthread_mutex_unlock(&b);
        pthread_mutex_unlock(&a);
    }
    return NULL;
}

THREAD(second)
{
    for (int i = 0; i < 10; i++) {
        both(&b, &a);
        x++;
        pthread_mutex_unlock(&a);
        pthread_mutex_unlock(&b);
    }
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return x - 20;
}
