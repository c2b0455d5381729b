// Most of a program is under an untraced library's lock; a progress counter is not.
// issue: https://github.com/martinus/oans/pull/129
// tool: ThreadSanitizer
// there: unusable report; 145 reports, nearly all inside of right sections, hid true races
// verdict: race; the progress thread reads without the lock, what is under it is ordered
// race: write read
// library: library_futex_mutex.c untraced
#include "prog.h"
#include "library_futex_mutex.h"

struct lock lock;
int queue, progress, told;

THREAD(producer)
{
    lib_lock(&lock);
    queue++;
    lib_unlock(&lock);
    progress++;                                   // [write]
    __atomic_store_n(&told, 1, __ATOMIC_RELAXED); // orders nothing
    return NULL;
}

THREAD(shows_progress)
{
    // the other way round the lock's calls may order the two
    while (!__atomic_load_n(&told, __ATOMIC_RELAXED))
        usleep(1000);
    USE(progress); // [read]
    lib_lock(&lock);
    queue++;
    lib_unlock(&lock);
    return NULL;
}

int main(void)
{
    run_two(producer, shows_progress);
    return queue - 2;
}
