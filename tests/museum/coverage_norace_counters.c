// Two threads run code compiled for coverage; its counters are the compiler's.
// issue: https://github.com/torognes/swarm/issues/151
// tool: Helgrind
// there: false alarm; with -fprofile-arcs, at the lines of the program where a counter is raised
// verdict: no race; the counters are no objects of the program, whose own data is under the mutex
// flags: -fprofile-arcs -ftest-coverage
#include "prog.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int jobs;

THREAD(work)
{
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        if (jobs < 100)
            jobs++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return jobs - 6;
}
