// A reader waits for a mutex, its owner to write: it happens, and the program ends all the same.
// deadlock: reader writer
// exit: 3
// gcc: also
// tsan: misses
#include "prog.h"
#include "stuck.h"

pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
int reading, logging, entries;

THREAD(reads)
{
    pthread_rwlock_rdlock(&table);
    meet(&reading, &logging);
    pthread_mutex_lock(&log_lock); // [reader]
    USE(entries);
    return NULL;
}

THREAD(writes)
{
    pthread_mutex_lock(&log_lock);
    meet(&logging, &reading);
    pthread_rwlock_wrlock(&table); // [writer]
    entries++;
    return NULL;
}

int main(void)
{
    start(reads, NULL);
    start(writes, NULL);
    await_waiters(&log_lock);
    while (!(__atomic_load_n(&table.__data.__readers, __ATOMIC_RELAXED) & 2)) /* a writer waits */
        pause_ms(1);
    exit(3);
}
