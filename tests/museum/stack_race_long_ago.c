// The first access of the race is followed by a hundred thousand others of its thread.
// issue: https://github.com/realm/realm-core/pull/7167
// tool: ThreadSanitizer
// there: unusable report; 'failed to restore the stack' of an access that is long ago
// verdict: race; the second thread's write is unordered with it
// race: early late
// stack: early writes_early outer
#include "prog.h"

int victim, first_done;
volatile int noise[512];

__attribute__((noinline)) static void writes_early(void)
{
    victim = 1; // [early]
}

__attribute__((noinline)) static void step(int i)
{
    noise[i & 511] += i;
}

__attribute__((noinline)) static void outer(void)
{
    writes_early();
    for (int i = 0; i < 100000; i++)
        step(i);
}

THREAD(first)
{
    outer();
    tell(&first_done);
    return NULL;
}

THREAD(second)
{
    await(&first_done);
    victim = 2; // [late]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    USE(victim);
    return 0;
}
