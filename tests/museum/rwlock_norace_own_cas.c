// A reader-writer lock made of one compare-and-swap.
// issue: https://github.com/wiredtiger/wiredtiger/pull/10751
// tool: ThreadSanitizer
// there: false alarm; accesses under the project's own locks, until loads and stores were added
// verdict: no race; each successful exchange is acquire and release
#include "prog.h"

int word, data;

static void change(int from, int to)
{
    int expected = from;

    while (
        !__atomic_compare_exchange_n(&word, &expected, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        expected = from;
        pause_ms(1);
    }
}

THREAD(writer)
{
    change(0, -1);
    data++;
    change(-1, 0);
    return NULL;
}

THREAD(reader)
{
    change(0, 1);
    USE(data);
    change(1, 0);
    return NULL;
}

int main(void)
{
    run_two(writer, reader);
    return 0;
}
