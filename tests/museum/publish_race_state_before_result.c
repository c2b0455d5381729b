// A task's state is stored before its result; who sees the state reads the result.
// issue: https://github.com/rr-debugger/rr/issues/2362
// tool: rr
// there: miss; a wrong order of two stores never shows, even in chaos mode
// verdict: race; the result is written behind the release store, so no acquire orders it
// race: result use
#include "prog.h"

int state, result, stored;

THREAD(task)
{
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE);
    result = 42; // [result]
    tell(&stored);
    return NULL;
}

THREAD(waits)
{
    while (!__atomic_load_n(&state, __ATOMIC_ACQUIRE))
        pause_ms(1);
    await(&stored);
    USE(result); // [use]
    return NULL;
}

int main(void)
{
    run_two(task, waits);
    return 0;
}
