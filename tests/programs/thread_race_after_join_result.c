// pthread_join() writes a result that the program reads. In a full recording nobody is seen to
// write it; what comes behind the read can be predicted all the same.
// race: a b
// engine: mc
// options: --engine mc
// gcc: also
#include "prog.h"

int x;

THREAD(nothing)
{
    return NULL;
}

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

int main(void)
{
    void *result = &x;

    pthread_join(start(nothing, NULL), &result);
    if (result)
        return 3;
    run_two(first, second);
    return 0;
}
