// A future of an untraced library: one thread finishes it, another waits and reads the result.
// issue: https://github.com/benlau/asyncfuture/issues/9
// tool: ThreadSanitizer
// there: false alarm; QFuture::result(), which is thread-safe, races
// verdict: no race; the library's wait returns after the other thread's finish
// library: library_future.c untraced
#include "prog.h"

void future_finish(void);
void future_wait(void);

int result;

THREAD(computes)
{
    result = 42;
    future_finish();
    return NULL;
}

THREAD(uses)
{
    future_wait();
    return result == 42 ? NULL : &result;
}

int main(void)
{
    run_two(computes, uses);
    return 0;
}
