// Three threads take three locks in a ring; raw system calls on pipes, which no tool sees, let
// them do
// so one after the other in this run.
// issue: https://github.com/google/sanitizers/issues/1258
// tool: ThreadSanitizer
// there: miss; a deadlock of several threads was not reported
// verdict: deadlock; if each has its first lock, each waits for the next one's
// deadlock: ab bc ca
#include "prog.h"
#include <sys/syscall.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER,
                       c = PTHREAD_MUTEX_INITIALIZER;
int x, y, z, turns[2][2];

static void give(int turn)
{
    syscall(SYS_write, turns[turn][1], "", 1L);
}

static void take(int turn)
{
    char c;
    syscall(SYS_read, turns[turn][0], &c, 1L);
}

THREAD(first)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // [ab]
    x++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    give(0);
    return NULL;
}

THREAD(second)
{
    take(0);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&c); // [bc]
    y++;
    pthread_mutex_unlock(&c);
    pthread_mutex_unlock(&b);
    give(1);
    return NULL;
}

THREAD(third)
{
    take(1);
    pthread_mutex_lock(&c);
    pthread_mutex_lock(&a); // [ca]
    z++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&c);
    return NULL;
}

int main(void)
{
    if (pipe(turns[0]) || pipe(turns[1]))
        return 1;
    pthread_t t = start(first, NULL);
    run_two(second, third);
    pthread_join(t, NULL);
    return 0;
}
