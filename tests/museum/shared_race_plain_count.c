// A count is read plainly, then changed by compare-and-swap.
// issue: https://github.com/Snaipe/libcsptr/issues/28
// tool: ThreadSanitizer
// there: unusable report; its user could not tell whether an atomic add can race
// verdict: race; the plain read conflicts with the other thread's atomic write
// race: read change
#include "prog.h"

size_t count = 1;
int changed;

static void add(size_t with)
{
    size_t old;

    do
        old = count; // [read]
    while (!__sync_bool_compare_and_swap(&count, old, old + with)); // [change]
}

THREAD(first)
{
    add(1);
    tell(&changed);
    return NULL;
}

THREAD(second)
{
    await(&changed);
    add(1);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
