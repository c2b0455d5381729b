// Two threads take two locks in opposite orders and wait for each other for ever, until a signal
// kills the program.
// deadlock: ab ba
// exit: 137
// gcc: also
// tsan: hangs
#include "prog.h"
#include "stuck.h"

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int has_a, has_b, x;

THREAD(first)
{
    pthread_mutex_lock(&a);
    meet(&has_a, &has_b);
    pthread_mutex_lock(&b); // [ab]
    x++;
    return NULL;
}

THREAD(second)
{
    pthread_mutex_lock(&b);
    meet(&has_b, &has_a);
    pthread_mutex_lock(&a); // [ba]
    x++;
    return NULL;
}

int main(void)
{
    start(first, NULL);
    start(second, NULL);
    await(&has_a);
    await(&has_b);
    await_waiters(&a);
    await_waiters(&b);
    raise(SIGKILL);
}
