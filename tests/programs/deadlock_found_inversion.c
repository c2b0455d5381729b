// Two threads take two locks in opposite orders. This run survives: raw system calls on a pipe,
// which no recorder sees, put one after the other.
// deadlock: ab ba
// gcc: also
#include "prog.h"

#include <sys/syscall.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int pipe_ends[2], x;

THREAD(first)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // [ab]
    x++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    syscall(SYS_write, pipe_ends[1], "", 1L);
    return NULL;
}

THREAD(second)
{
    char c;
    syscall(SYS_read, pipe_ends[0], &c, 1L);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // [ba]
    x++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return NULL;
}

int main(void)
{
    if (pipe(pipe_ends))
        return 1;
    run_two(first, second);
    return x - 2;
}
