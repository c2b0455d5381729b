// Two threads lock one mutex, each through a mapping of its own.
// issue: https://github.com/tenstorrent/tt-umd/pull/1649
// tool: ThreadSanitizer
// there: false alarm; the tool cannot know that both addresses are the same mutex in shared memory
// verdict: no race; it is one mutex, and the counter is only used under it
#include "prog.h"
#include <sys/mman.h>

int counter;

static void *work(void *arg)
{
    pthread_mutex_t *lock = arg;

    pthread_mutex_lock(lock);
    counter++;
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(void)
{
    int fd = memfd_create("robust", 0);
    pthread_mutexattr_t attr;
    pthread_mutex_t *one, *two;

    if (fd < 0 || ftruncate(fd, 4096))
        return 1;
    one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    two = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(one, &attr);
    pthread_t a = start(work, one), b = start(work, two);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return counter - 2;
}
