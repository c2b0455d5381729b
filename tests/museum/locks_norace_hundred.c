// A thread holds a hundred mutexes at a time.
// issue: https://github.com/google/sanitizers/issues/950
// tool: ThreadSanitizer
// there: crash; 'CHECK failed: sanitizer_deadlock_detector.h ... (0x40, 0x40)'
// verdict: no race; the data is under all of the locks, always taken in the same order
#include "prog.h"

static pthread_mutex_t locks[100];
int data;

THREAD(works)
{
    for (int i = 0; i < 100; i++)
        pthread_mutex_lock(&locks[i]);
    data++;
    for (int i = 100; i--;)
        pthread_mutex_unlock(&locks[i]);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 100; i++)
        pthread_mutex_init(&locks[i], NULL);
    run_two(works, works);
    return data - 2;
}
