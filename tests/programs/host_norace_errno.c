// errno is the program's: nothing that is recorded changes it.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x, bad;
long y;

static void check(void)
{
    if (errno != 77)
        __atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
}

THREAD(work)
{
    errno = 77;
    check();
    for (int i = 0; i < 5000; i++) {
        __atomic_fetch_add(&y, 1, __ATOMIC_SEQ_CST);
        check();
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
        check();
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return bad;
}
