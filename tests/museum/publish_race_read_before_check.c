// A payload is read after a flag was loaded that did not yet say "done".
// issue: https://github.com/google/sanitizers/issues/1489
// tool: ThreadSanitizer
// there: miss; unless the threads are made to wait, the acquire sees the release
// verdict: race; an acquire that reads the flag's old value is not ordered by its release
// race: write read
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int done, payload, loaded, stored;

THREAD(initialises)
{
    await(&loaded);
    pthread_mutex_lock(&lock);
    payload = 1; // [write]
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    tell(&stored);
    return NULL;
}

THREAD(reads)
{
    int initially_done = __atomic_load_n(&done, __ATOMIC_ACQUIRE);

    tell(&loaded);
    await(&stored);
    USE(payload); // [read]
    USE(initially_done);
    return NULL;
}

int main(void)
{
    run_two(initialises, reads);
    return 0;
}
