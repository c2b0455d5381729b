// getenv against setenv: the environment has no lock that getenv takes.
// race: a b
// tsan: misses
#include "prog.h"

THREAD(first)
{
    setenv("HEDDLE_TEST_PROGRAM", "1", 1); // [a]
    return NULL;
}

THREAD(second)
{
    USE(getenv("HOME")); // [b]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
