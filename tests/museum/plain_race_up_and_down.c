// One thread increments, one decrements.
// issue: https://github.com/google/sanitizers/issues/1576
// tool: ThreadSanitizer
// there: miss; in about one of a thousand runs, on purpose
// verdict: race; two unordered plain updates
// race: up down
#include "prog.h"

int global;

THREAD(increments)
{
    ++global; // [up]
    return NULL;
}

THREAD(decrements)
{
    --global; // [down]
    return NULL;
}

int main(void)
{
    run_two(increments, decrements);
    return 0;
}
