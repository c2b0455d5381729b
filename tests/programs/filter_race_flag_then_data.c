// The recorder leaves out the second write to x, which repeats the first. Whoever reads it has seen
// all that came before it, though: data never races.
// flags: -O0
// flags: -O2
// predicted: x r
// never: a b
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;
char between[256];
int data;

__attribute__((noinline)) static void set(int *p, int v)
{
    *p = v; // [x, a, b]
}

THREAD(first)
{
    set(&x, 0);
    set(&data, 1);
    set(&x, 1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(second)
{
    int r;

    usleep(50000);
    pthread_mutex_lock(&lock);
    r = x; // [r]
    pthread_mutex_unlock(&lock);
    if (r)
        set(&data, 2);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
