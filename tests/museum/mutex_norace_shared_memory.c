// A reader-writer lock of a mutex, a condition variable and a counter lies in shared memory.
// issue: https://github.com/sysrepo/sysrepo/issues/3442
// tool: Helgrind
// there: false alarm; 'unlocked an invalid lock' for process-shared locks
// verdict: no race; the mutex is initialised before it is used, and each unlock is the owner's
#include "prog.h"
#include <sys/mman.h>

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int readers, data;
};
struct shared *shared;

THREAD(reader)
{
    pthread_mutex_lock(&shared->lock);
    shared->readers++;
    pthread_mutex_unlock(&shared->lock);
    USE(shared->data);
    pthread_mutex_lock(&shared->lock);
    shared->readers--;
    pthread_cond_broadcast(&shared->change);
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

THREAD(writer)
{
    pthread_mutex_lock(&shared->lock);
    while (shared->readers)
        pthread_cond_wait(&shared->change, &shared->lock);
    shared->data++;
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->change, &cond);
    run_two(reader, writer);
    return shared->data - 1;
}
