// A reader-writer lock is made in memory where a mutex was.
// issue: https://github.com/SophistSolutions/Stroika/issues/768
// tool: Helgrind
// there: crash; 'pthread_rwlock_rdlock with a pthread_mutex_t* argument', later an assertion
//   failed
// verdict: no race; the mutex is destroyed before the memory becomes another object
#include "prog.h"

static union {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
} memory;
int x;

THREAD(first)
{
    pthread_mutex_lock(&memory.mutex);
    x++;
    pthread_mutex_unlock(&memory.mutex);
    return NULL;
}

THREAD(reader)
{
    pthread_rwlock_rdlock(&memory.rwlock);
    USE(x);
    pthread_rwlock_unlock(&memory.rwlock);
    return NULL;
}

THREAD(writer)
{
    pthread_rwlock_wrlock(&memory.rwlock);
    x++;
    pthread_rwlock_unlock(&memory.rwlock);
    return NULL;
}

int main(void)
{
    pthread_mutex_init(&memory.mutex, NULL);
    run_two(first, first);
    pthread_mutex_destroy(&memory.mutex);
    pthread_rwlock_init(&memory.rwlock, NULL);
    run_two(reader, writer);
    pthread_rwlock_destroy(&memory.rwlock);
    return 0;
}
