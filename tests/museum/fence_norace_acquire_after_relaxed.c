// A message is sent by a release store, received by a relaxed load and an acquire fence.
// issue: https://github.com/google/sanitizers/issues/1415
// tool: ThreadSanitizer
// there: false alarm; stand-alone fences are not modelled, so the message looks unordered
// verdict: no race; C11 7.17.4p3: the release store synchronizes with the fence behind the load
//   that reads it
// tsan: false alarm
#include "prog.h"

int message, ready;

THREAD(sender)
{
    message = 42;
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    return NULL;
}

THREAD(receiver)
{
    await(&ready);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (message != 42)
        abort();
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    return 0;
}
