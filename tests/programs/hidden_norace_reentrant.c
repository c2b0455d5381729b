// The functions that keep no state: strtok_r, localtime_r, rand_r, and those under a lock.
// gcc: also
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

THREAD(work)
{
    char text[] = "a b c", *save;
    unsigned seed = 1;
    time_t zero = 0;
    struct tm tm;
    USE(strtok_r(text, " ", &save));
    USE(strtok_r(NULL, " ", &save));
    USE(rand_r(&seed) + rand());
    USE(localtime_r(&zero, &tm));
    pthread_mutex_lock(&lock);
    USE(strtok(text, " "));
    USE(localtime(&zero)->tm_year);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
