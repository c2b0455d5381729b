// A write after an unlock; the lock happens to order it behind the other thread's.
// issue: https://github.com/google/sanitizers/issues/1854
//   https://github.com/llvm/llvm-project/issues/134344
// tool: ThreadSanitizer
// there: miss; no report if the first writer gets the lock first
// verdict: race; if the second thread gets the lock first, nothing orders the writes
// predicted: w1 w2
#include "prog.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

THREAD(writer1)
{
    pthread_mutex_lock(&lock);
    x = 1; // [w1]
    pthread_mutex_unlock(&lock);
    return NULL;
}

THREAD(writer2)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    x = 2; // [w2]
    return NULL;
}

int main(void)
{
    pthread_t a = start(writer1, NULL);

    pause_ms(50); // in most runs the first has the lock first; the race is there in any case
    pthread_t b = start(writer2, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
