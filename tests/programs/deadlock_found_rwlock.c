// A reader that wants a mutex, and its owner who wants to write. Two readers that want the same
// mutex do not wait for each other. Raw system calls on a pipe keep the run alive, unseen.
// deadlock: reader writer
// gcc: also
#include "prog.h"

#include <sys/syscall.h>

pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
int pipe_ends[2], entries, lines;

static void look_up(void)
{
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&log_lock); // [reader]
    lines += entries;
    pthread_mutex_unlock(&log_lock);
    pthread_rwlock_unlock(&table);
}

THREAD(reads)
{
    look_up();
    syscall(SYS_write, pipe_ends[1], "", 1L);
    return NULL;
}

THREAD(writes)
{
    char c;
    syscall(SYS_read, pipe_ends[0], &c, 1L);
    pthread_mutex_lock(&log_lock);
    pthread_rwlock_wrlock(&table); // [writer]
    entries++;
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&log_lock);
    return NULL;
}

int main(void)
{
    if (pipe(pipe_ends))
        return 1;
    look_up();
    run_two(reads, writes);
    return entries - 1;
}
