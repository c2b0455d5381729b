// What comes after the once is not ordered.
// race: a a
#include "prog.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int users;

static void init(void)
{
    users = 0;
}

THREAD(work)
{
    pthread_once(&once, init);
    users++; // [a]
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return 0;
}
