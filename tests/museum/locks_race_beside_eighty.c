// Beside eighty locks that a thread holds there is a counter that none of them guards.
// issue: https://github.com/google/sanitizers/issues/1611
//   https://github.com/pingcap/tiflash/issues/7139
// tool: ThreadSanitizer
// there: crash; more than 64 locks end the program, even where reports about locks are suppressed
// verdict: race; the other thread holds none of them
// race: a b
#include "prog.h"

static pthread_mutex_t locks[80];
int counter;

THREAD(holds)
{
    for (int i = 0; i < 80; i++)
        pthread_mutex_lock(&locks[i]);
    counter++; // [a]
    for (int i = 0; i < 80; i++)
        pthread_mutex_unlock(&locks[i]);
    return NULL;
}

THREAD(forgets)
{
    counter++; // [b]
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 80; i++)
        pthread_mutex_init(&locks[i], NULL);
    run_two(holds, forgets);
    return 0;
}
