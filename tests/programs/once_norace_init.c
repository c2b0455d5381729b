// pthread_once orders the initialisation before every caller.
// gcc: also
#include "prog.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int *table;

static void init(void)
{
    table = calloc(4, sizeof(int));
    table[1] = 7;
}

THREAD(work)
{
    pthread_once(&once, init);
    USE(table[1]);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    free(table);
    return 0;
}
