// The program defines __tsan_on_report, in which a test framework notes a failure under a lock.
// issue: https://github.com/wpilibsuite/allwpilib/issues/8214
// tool: ThreadSanitizer
// there: hang; the hook's own accesses race, too, and the tool waits for itself
// verdict: race; the two updates are unordered
// race: a a
#include "prog.h"

pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;
int failures, value;

void __tsan_on_report(void *report);

void __tsan_on_report(void *report)
{
    (void)report;
    pthread_mutex_lock(&failures_lock);
    failures++;
    pthread_mutex_unlock(&failures_lock);
}

THREAD(work)
{
    value++; // [a]
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
