// A race that was declared benign is not reported; nor one on memory of a benign range.
// gcc: also
#include "prog.h"

void AnnotateBenignRaceSized(const char *file, int line, const volatile void *p, long bytes,
                             const char *why);

int hits, more[4];

THREAD(first)
{
    hits++;
    more[1]++;
    return NULL;
}

THREAD(second)
{
    hits++;
    more[1]++;
    return NULL;
}

int main(void)
{
    AnnotateBenignRaceSized(__FILE__, __LINE__, &hits, sizeof(hits), "a statistic");
    AnnotateBenignRaceSized(__FILE__, __LINE__, more, sizeof(more), "some more");
    run_two(first, second);
    return 0;
}
