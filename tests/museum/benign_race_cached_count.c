// A count of processors is determined on first use and cached in a plain variable.
// issue: https://github.com/microsoft/mimalloc/issues/414
// tool: ThreadSanitizer
// there: unusable report; a true race, thought harmless, in each program that uses the allocator
// verdict: race; both threads may find the cache empty and write it; plain accesses
// race: fill read
// may: fill fill
#include "prog.h"

int cached, filled;

static int count(void)
{
    if (!cached)    // [read]
        cached = 4; // [fill]
    return cached;
}

THREAD(first)
{
    USE(count());
    tell(&filled);
    return NULL;
}

THREAD(second)
{
    await(&filled);
    USE(count());
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
