// A mutex in a shared file mapping is locked at one address and unlocked at another.
// issue: https://github.com/sysrepo/sysrepo/issues/2123
// tool: ThreadSanitizer
// there: false alarm; 'unlock of an unlocked mutex': the memory was mapped anew in between
// verdict: no race; it is one mutex: the mapping's address is not its identity (POSIX, process-
//   shared)
#include "prog.h"
#include <sys/mman.h>

static pthread_mutex_t *locks[2];
int counter;

static void *work(void *arg)
{
    (void)arg;
    pthread_mutex_lock(locks[0]);
    counter++;
    pthread_mutex_unlock(locks[1]);
    return NULL;
}

int main(void)
{
    int fd = memfd_create("locks", 0);
    pthread_mutexattr_t attr;

    if (fd < 0 || ftruncate(fd, 4096))
        return 1;
    for (int i = 0; i < 2; i++)
        locks[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(locks[0], &attr);
    run_two(work, work);
    return counter - 2;
}
