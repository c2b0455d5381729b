// A lock for each of 96 cores; readers take their own, a writer takes all.
// issue: https://github.com/yugabyte/yugabyte-db/issues/17511
// tool: ThreadSanitizer
// there: crash; only on machines with more than 64 cores, where a writer holds that many locks
// verdict: no race; a reader's lock excludes the writer
#include "prog.h"

static pthread_rwlock_t cores[96];
int config;

static void *reader(void *arg)
{
    pthread_rwlock_t *mine = arg;

    pthread_rwlock_rdlock(mine);
    USE(config);
    pthread_rwlock_unlock(mine);
    return NULL;
}

THREAD(writer)
{
    for (int i = 0; i < 96; i++)
        pthread_rwlock_wrlock(&cores[i]);
    config++;
    for (int i = 0; i < 96; i++)
        pthread_rwlock_unlock(&cores[i]);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 96; i++)
        pthread_rwlock_init(&cores[i], NULL);
    pthread_t a = start(reader, &cores[3]), b = start(reader, &cores[95]), c = start(writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
