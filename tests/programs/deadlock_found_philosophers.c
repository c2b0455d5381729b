// Five philosophers who all take the left fork first; in this run each eats alone, one after the
// other: raw system calls on pipes see to that, which no recorder sees.
// deadlock: right right right right right
#include "prog.h"

#include <sys/syscall.h>

enum { TABLE = 5 };
pthread_mutex_t forks[TABLE];
int turns[TABLE + 1][2], meals[TABLE];

THREAD(eats)
{
    long me = (long)(intptr_t)arg;
    char c;
    syscall(SYS_read, turns[me][0], &c, 1L);
    pthread_mutex_lock(&forks[me]);
    pthread_mutex_lock(&forks[(me + 1) % TABLE]); // [right]
    meals[me]++;
    pthread_mutex_unlock(&forks[(me + 1) % TABLE]);
    pthread_mutex_unlock(&forks[me]);
    syscall(SYS_write, turns[me + 1][1], "", 1L);
    return NULL;
}

int main(void)
{
    pthread_t threads[TABLE];
    for (int i = 0; i <= TABLE; i++)
        if (pipe(turns[i]))
            return 1;
    for (int i = 0; i < TABLE; i++)
        pthread_mutex_init(&forks[i], NULL);
    for (int i = 0; i < TABLE; i++)
        threads[i] = start(eats, (void *)(intptr_t)i);
    syscall(SYS_write, turns[0][1], "", 1L);
    for (int i = 0; i < TABLE; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
