// Lazy initialisation: the flag is checked under the lock, the object is used without.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int initialised, table[8];

static void init(void)
{
    pthread_mutex_lock(&lock);
    if (!initialised) {
        for (int i = 0; i < 8; i++)
            table[i] = i;
        initialised = 1;
    }
    pthread_mutex_unlock(&lock);
}

THREAD(work)
{
    init();
    USE(table[5]);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
