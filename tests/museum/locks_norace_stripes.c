// A table has 250 stripes; an update of a range locks them all in order, a single one just its
// own.
// issue: https://github.com/facebook/rocksdb/pull/10131
// tool: ThreadSanitizer
// there: crash; a stress test that locks 250 stripes ends in the deadlock detector
// verdict: no race; every access of a slot is under the lock of its stripe
#include "prog.h"

enum { STRIPES = 250 };
static pthread_mutex_t stripe[STRIPES];
int slots[STRIPES];

THREAD(range)
{
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_lock(&stripe[i]);
    for (int i = 0; i < STRIPES; i++)
        slots[i]++;
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_unlock(&stripe[i]);
    return NULL;
}

THREAD(single)
{
    for (int i = 0; i < STRIPES; i += 7) {
        pthread_mutex_lock(&stripe[i]);
        slots[i]++;
        pthread_mutex_unlock(&stripe[i]);
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripe[i], NULL);
    run_two(range, single);
    return slots[0] - 2;
}
